// Returns which elements, by their order in the document, a script made listen to clicks.
({ dom }, { limit }) => {
  const EVENTS = ['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'dblclick'];
  // Only the browser's debugging protocol offers this.
  const told = typeof getEventListeners === 'function' ? getEventListeners : null;
  const found = [];
  const roots = [document];
  let index = 0;
  for (let at = 0; at < roots.length && index < limit; at += 1) {
    for (const element of dom.query(roots[at], '*')) {
      const tag = dom.tag(element);
      if (tag !== 'html' && tag !== 'body') {
        const heard = told ? told(element) : {};
        if (EVENTS.some((event) => heard[event]) || dom.listens(element)) found.push(index);
      }
      index += 1;
      if (dom.shadow(element)) roots.push(dom.shadow(element));
    }
  }
  return { url: document.URL, found, size: index };
}
