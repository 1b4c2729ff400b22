// Tells whether a picture of this document needs no preparation, all of which can be seen.
({ dom, showsBare }, covered) =>
  !dom.query(document, '*').some((element) => dom.shadow(element)) && showsBare(covered)
