// Returns all visible text, including shadow roots, with one line per block. With `drawn` it has the
// capitals and small letters that CSS gives it, else those of the document.
({ dom }, drawn) => {
  const transformed = (text, way) => way === 'uppercase' ? text.toUpperCase()
    : way === 'lowercase' ? text.toLowerCase()
      : way === 'capitalize' ? text.replace(/(^|[^\p{L}\p{N}'’])(\p{L})/gu,
        (_, before, letter) => before + letter.toUpperCase()) : text;
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'option', 'textarea',
    'canvas', 'video', 'audio']);
  const parts = [];
  let size = 0;
  const walk = (node, depth, shown, way) => {
    if (size > 3000000 || depth > 400) return;
    if (dom.nodeType(node) === 3) {
      if (!shown) return;
      const text = dom.nodeValue(node);
      size += text.length;
      const words = text.replace(/\s+/g, ' ');
      parts.push(drawn ? transformed(words, way) : words);
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
      const label = dom.value(node);
      if (visible) parts.push(drawn ? transformed(label, css.textTransform) : label);
      return;
    }
    const edge = css.display.startsWith('inline') || css.display === 'contents' ? ''
      : css.display === 'table-cell' ? ' ' : '\n';
    parts.push(edge);
    for (const child of dom.children(node)) walk(child, depth + 1, visible, css.textTransform);
    parts.push(edge);
  };
  if (document.body) walk(document.body, 0, true, 'none');
  return parts.join('');
}
