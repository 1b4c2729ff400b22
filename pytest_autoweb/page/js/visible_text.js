// Returns all visible text, including shadow roots, with one line per block.
({ dom }) => {
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'option', 'textarea',
    'canvas', 'video', 'audio']);
  const parts = [];
  let size = 0;
  const walk = (node, depth, shown) => {
    if (size > 3000000 || depth > 400) return;
    if (dom.nodeType(node) === 3) {
      if (!shown) return;
      const text = dom.nodeValue(node);
      size += text.length;
      parts.push(text.replace(/\s+/g, ' '));
      return;
    }
    if (!dom.isElement(node)) return;
    const tag = dom.tag(node);
    if (tag === 'br') parts.push('\n');
    if (SKIPPED.has(tag)) return;
    const css = dom.style(node);
    if (css.display === 'none' || !dom.rendered(node)) return;
    const visible = css.visibility === 'visible';
    if (tag === 'input' && ['button', 'submit', 'reset'].includes(dom.attr(node, 'type'))) {
      if (visible) parts.push(dom.value(node));
      return;
    }
    const edge = css.display.startsWith('inline') || css.display === 'contents' ? ''
      : css.display === 'table-cell' ? ' ' : '\n';
    parts.push(edge);
    for (const child of dom.children(node)) walk(child, depth + 1, visible);
    parts.push(edge);
  };
  if (document.body) walk(document.body, 0, true);
  return parts.join('');
}
