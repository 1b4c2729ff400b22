// Scrolls the page or its largest scrollable part, by a share of what is visible or to a position.
({ dom }, { by, to }) => {
  const root = document.scrollingElement || document.documentElement;
  const room = (element) => element.scrollHeight - element.clientHeight;
  const rolls = (element) => {
    const css = dom.style(element);
    return css && /(auto|scroll|overlay)/.test(css.overflowY) && room(element) > 20;
  };
  const inner = () => {
    let best = null;
    let most = 0;
    for (const element of dom.query(document, '*')) {
      const { width, height } = dom.rect(element);
      if (width * height > most && dom.visible(element) && rolls(element)) {
        best = element;
        most = width * height;
      }
    }
    return best;
  };
  const part = room(root) > 20 ? root : inner();
  if (!part) return null;
  const before = part.scrollTop;
  const behavior = 'instant';
  part.scrollTo({ top: to === null ? before + by * part.clientHeight : to, behavior });
  return { before, after: part.scrollTop };
}
