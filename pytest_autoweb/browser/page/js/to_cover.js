// Returns what `exposed` tells of this document, or null if some of it is in shadow trees.
({ dom, exposed }, asked) =>
  (dom.query(document, '*').some((element) => dom.shadow(element)) ? null : exposed(asked))
