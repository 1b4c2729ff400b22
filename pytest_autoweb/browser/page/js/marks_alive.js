// Returns the element's position in the tree, from the document down, or null if it is gone.
({ dom, elements: made }, number) => {
  const place = (element) => {
    const steps = [];
    for (let node = element; node;) {
      const above = dom.parentNode(node);
      if (!above) {
        if (dom.nodeType(node) === 9) return steps.join('/');
        if (!node.host) return null;
        steps.unshift('s');
        node = node.host;
        continue;
      }
      steps.unshift(Array.from(dom.childNodes(above)).indexOf(node));
      node = above;
    }
    return null;
  };
  if (Array.isArray(made)) return made.map(place);
  const chain = [...made.frames[number], made.elements[number]];
  for (let i = 0; i < chain.length; i += 1) {
    const owner = i ? chain[i - 1].contentDocument : document;
    if (chain[i].ownerDocument !== owner) return null;
  }
  const places = chain.map(place);
  return places.includes(null) ? null : places;
}
