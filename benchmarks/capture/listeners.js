// Remembers which elements of this document listen to presses themselves. DevTools'
// `getEventListeners` knows only those of its own document, so this runs in each.
(() => {
  const PRESSES = ['click', 'dblclick', 'mousedown', 'mouseup', 'pointerdown', 'pointerup'];
  window.truthPressed = new WeakSet();
  const visit = (root) => root.querySelectorAll('*').forEach((node) => {
    const heard = getEventListeners(node);
    if (PRESSES.some((kind) => (heard[kind] || []).length)) window.truthPressed.add(node);
    if (node.shadowRoot) visit(node.shadowRoot);
  });
  visit(document);
})()
