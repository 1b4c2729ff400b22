// Returns the largest things that a page shows and no listing names: pictures, canvases, and boxes
// with nothing inside, such as hosts of closed shadow roots.
({ dom }, arg) => {
  const PAINTED = new Set(['canvas', 'img', 'svg', 'video', 'embed', 'object', 'iframe']);
  const EMPTY = new Set(['br', 'hr', 'script', 'style', 'link', 'meta', 'template', 'source', 'wbr']);
  const found = [];
  let seen = 0;
  const walk = (element, depth) => {
    seen += 1;
    if (seen > arg.limit || depth > 400 || !dom.rendered(element)) return;
    const tag = dom.tag(element);
    const inside = dom.children(element).filter((child) => dom.isElement(child)
      || dom.nodeValue(child).trim());
    if (PAINTED.has(tag) || (!inside.length && !EMPTY.has(tag))) {
      const box = dom.rect(element);
      if (box.width >= 8 && box.height >= 8 && dom.style(element).visibility === 'visible') {
        found.push({ tag, width: Math.round(box.width), height: Math.round(box.height),
          x: Math.round(box.x), y: Math.round(box.y) });
      }
      return;
    }
    for (const child of inside) if (dom.isElement(child)) walk(child, depth + 1);
  };
  if (document.body) for (const child of dom.children(document.body)) {
    if (dom.isElement(child)) walk(child, 0);
  }
  found.sort((a, b) => b.width * b.height - a.width * a.height);
  return found.slice(0, arg.shown);
}
