// Returns which elements, by their order in the document, a script made listen to clicks, and which
// to the mouse coming over them.
({ dom }, { limit }) => {
  const EVENTS = ['click', 'mousedown', 'mouseup', 'pointerdown', 'pointerup', 'dblclick'];
  const OVER = ['mouseenter', 'mouseover', 'pointerenter', 'pointerover'];
  // Only the browser's debugging protocol offers this.
  const told = typeof getEventListeners === 'function' ? getEventListeners : null;
  // React's root listens to everything on behalf of all below it, which only have notes of it.
  const isOver = (element, heard) => {
    try {
      const keys = Object.keys(element);
      if (OVER.some((event) => heard[event])) {
        return !keys.some((key) => /^(?:_reactListening|__reactContainer\$)/.test(key));
      }
      const props = keys.find((key) => key.startsWith('__reactProps$'));
      return Boolean(props && (element[props].onMouseEnter || element[props].onMouseOver));
    } catch {
      return false;
    }
  };
  const found = [];
  const over = [];
  const roots = [document];
  let index = 0;
  for (let at = 0; at < roots.length && index < limit; at += 1) {
    for (const element of dom.query(roots[at], '*')) {
      const tag = dom.tag(element);
      if (tag !== 'html' && tag !== 'body') {
        const heard = told ? told(element) : {};
        if (EVENTS.some((event) => heard[event]) || dom.listens(element)) found.push(index);
        if (isOver(element, heard)) over.push(index);
      }
      index += 1;
      if (dom.shadow(element)) roots.push(dom.shadow(element));
    }
  }
  return { url: document.URL, found, over, size: index };
}
