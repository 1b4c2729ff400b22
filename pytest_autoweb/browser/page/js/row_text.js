// Returns the text that an element stands beside: that of the smallest box which says more.
({ dom, elements }, limit) => elements.slice(0, 1).map((element) => {
  const flat = (node) => (node.textContent || '').replace(/\s+/g, '').slice(0, limit + 1);
  const own = flat(element);
  for (let at = dom.parent(element); at; at = dom.parent(at)) {
    const text = flat(at);
    if (text.length > limit) return '';
    if (text !== own) return text;
  }
  return '';
})
