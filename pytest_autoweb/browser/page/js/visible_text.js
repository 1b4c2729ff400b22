// Returns all visible text, including shadow roots, with one line per block. With `drawn` it has the
// capitals and small letters that CSS gives it, else those of the document.
({ dom }, drawn) => {
  const inLanguage = (text, method, element) => {
    const tagged = dom.closest(element, '[lang]');
    try {
      return text[method](tagged && dom.attr(tagged, 'lang') || undefined);
    } catch {
      return text[method]();  // no such language
    }
  };
  const transformed = (text, way, element) => {
    if (way === 'uppercase') return inLanguage(text, 'toLocaleUpperCase', element);
    if (way === 'lowercase') return inLanguage(text, 'toLocaleLowerCase', element);
    if (way !== 'capitalize') return text;
    // A word may begin in the text before, as in `h<b>ello</b>`.
    return (last + text).replace(/(^|[^\p{L}\p{N}'’])(\p{L})/gu,
      (_, before, letter) => before + inLanguage(letter, 'toLocaleUpperCase', element)).slice(last.length);
  };
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'option', 'textarea',
    'canvas', 'video', 'audio']);
  const parts = [];
  let size = 0, last = '', firstLetter = null;
  const add = (text) => {
    parts.push(text);
    last = text.slice(-1) || last;
  };
  const draw = (text, way, element) => {
    if (!drawn) return text;
    const written = transformed(text, way, element);
    if (!firstLetter || !text.trim()) return written;
    const first = firstLetter;
    firstLetter = null;
    return written.replace(/^([\s\p{P}]*)([\p{L}\p{N}])/u,
      (_, before, letter) => before + transformed(letter, first.way, first.element));
  };
  const walk = (node, depth, shown, way) => {
    if (size > 3000000 || depth > 400) return;
    if (dom.nodeType(node) === 3) {
      if (!shown) return;
      const text = dom.nodeValue(node);
      size += text.length;
      add(draw(text.replace(/\s+/g, ' '), way.textTransform, way.element));
      return;
    }
    if (!dom.isElement(node)) return;
    const tag = dom.tag(node);
    if (tag === 'br') add('\n');
    if (SKIPPED.has(tag)) return;
    const css = dom.style(node);
    if (css.display === 'none' || !dom.rendered(node, css)) return;
    const visible = css.visibility === 'visible';
    if (tag === 'input' && ['button', 'submit', 'reset'].includes(dom.attr(node, 'type'))) {
      if (visible) add(draw(dom.value(node), css.textTransform, node));
      return;
    }
    const edge = css.display.startsWith('inline') || css.display === 'contents' ? ''
      : css.display === 'table-cell' ? ' ' : '\n';
    add(edge);
    if (drawn && edge) {
      const first = dom.style(node, '::first-letter').textTransform;
      if (first !== css.textTransform) firstLetter = { way: first, element: node };
    }
    const inside = { textTransform: css.textTransform, element: node };
    for (const child of dom.children(node)) walk(child, depth + 1, visible, inside);
    if (firstLetter && firstLetter.element === node) firstLetter = null;
    add(edge);
  };
  if (document.body) walk(document.body, 0, true, null);
  return parts.join('');
}
