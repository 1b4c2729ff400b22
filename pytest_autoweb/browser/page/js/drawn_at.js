// Tells for each point of the viewport whether a drawing is there, in which there are no elements.
({ dom }, points) => {
  const DRAWN = new Set(['canvas', 'svg', 'img', 'video', 'object', 'embed']);
  const at = (x, y) => {
    let hit = Document.prototype.elementFromPoint.call(document, x, y);
    for (let depth = 0; hit && depth < 20; depth += 1) {
      const inner = dom.shadow(hit) && dom.shadow(hit).elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    if (!hit) return '';
    const tag = dom.tag(dom.closest(hit, 'svg') || hit);
    return DRAWN.has(tag) ? tag : '';
  };
  return points.map(([x, y]) => at(x, y));
}
