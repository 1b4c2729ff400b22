// Returns the live DOM as HTML with current values and states, open shadow roots and frames of the
// same origin.
({ dom }) => {
  const VOID = new Set(['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta',
    'source', 'track', 'wbr']);
  const DROPPED = new Set(['script', 'style', 'noscript', 'svg', 'meta', 'link', 'head', 'template',
    'object', 'embed', 'base']);
  const LIVE = new Set(['value', 'checked', 'selected']);
  const LIMIT = 8000000;
  const out = [];
  let size = 0;
  const put = (text) => {
    size += text.length;
    out.push(text);
  };
  const escapeText = (text) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')
    .replace(/>/g, '&gt;');
  const escapeAttr = (text) => escapeText(text).replace(/"/g, '&quot;');
  const attributes = (element, tag) => {
    const list = [];
    for (const { name, value } of Array.from(dom.attributes(element))) {
      const live = LIVE.has(name) && ['input', 'option', 'textarea'].includes(tag);
      if (!live) list.push([name, String(value).slice(0, 2000)]);
    }
    const type = (dom.attr(element, 'type') || '').toLowerCase();
    if (tag === 'input') {
      const ticks = type === 'checkbox' || type === 'radio';
      const given = dom.has(element, 'value') || !ticks;
      const value = ticks ? dom.attr(element, 'value') : dom.value(element);
      if (given && value && !dom.isSecret(element)) list.push(['value', value]);
      if (ticks && dom.flag(element, 'checked')) list.push(['checked', '']);
    }
    if (tag === 'option') {
      if (dom.has(element, 'value')) list.push(['value', dom.attr(element, 'value')]);
      if (dom.flag(element, 'selected')) list.push(['selected', '']);
    }
    return list;
  };
  const frameBody = (frame) => {
    try {
      return frame.contentDocument && frame.contentDocument.body;
    } catch {
      return null;
    }
  };
  const walk = (node, shown, depth) => {
    if (size > LIMIT || depth > 300) return;
    if (dom.nodeType(node) === 3) put(escapeText(dom.nodeValue(node)));
    if (!dom.isElement(node)) return;
    const tag = dom.tag(node);
    if (tag === 'svg') {
      const label = dom.attr(node, 'aria-label');
      if (label) put(`<span role="img" aria-label="${escapeAttr(label)}"></span>`);
      return;
    }
    if (DROPPED.has(tag)) return;
    const isSlot = tag === 'slot';
    const visible = isSlot || dom.rendered(node) || tag === 'option' || tag === 'optgroup';
    if (!isSlot) {
      const list = attributes(node, tag);
      if (shown && !visible && !list.some(([name]) => name === 'hidden')) list.push(['hidden', '']);
      put(`<${tag}${list.map(([n, v]) => ` ${n}="${escapeAttr(v)}"`).join('')}>`);
      if (VOID.has(tag)) return;
    }
    inside(node, tag, shown && visible, depth);
    if (!isSlot) put(`</${tag}>`);
    // Written after its element, because an HTML parser treats the content of an iframe as plain text.
    const body = tag === 'iframe' || tag === 'frame' ? frameBody(node) : null;
    if (body) {
      put('<frame-document>');
      for (const child of dom.children(body)) walk(child, shown && visible, depth + 1);
      put('</frame-document>');
    }
  };
  const inside = (node, tag, shown, depth) => {
    if (tag === 'textarea') {
      put(escapeText(dom.value(node)));
      return;
    }
    if (tag === 'iframe' || tag === 'frame') {
      return;
    }
    // As rendered: the content of a shadow root, with the light children in its slots.
    const hasShadow = dom.shadow(node);
    if (hasShadow) put('<shadow-root>');
    for (const child of dom.children(node)) walk(child, shown, depth + 1);
    if (hasShadow) put('</shadow-root>');
  };
  const body = document.body || document.documentElement;
  if (body) walk(body, true, 0);
  return out.join('');
}
