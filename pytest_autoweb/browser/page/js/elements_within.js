// Returns the elements of a document, and of its open shadow trees, that match a selector.
(dom, root, selector) => {
  const below = (at) => [
    ...dom.query(at, selector),
    ...dom.query(at, '*').map(dom.shadow).filter(Boolean).flatMap(below),
  ];
  return [...(dom.matches(root, selector) ? [root] : []), ...below(root)];
}
