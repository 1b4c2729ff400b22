// Returns the live document as a flat list of tokens: its tree, its form state, and those styles
// that decide whether an element is visible and which accessible name it has.
({ dom }, limit) => {
  const DROPPED = new Set(['srcset', 'poster', 'ping', 'background', 'nonce', 'integrity', 'srcdoc',
    'http-equiv', 'autofocus', 'autoplay', 'manifest', 'sandbox', 'allow', 'csp', 'loading', 'data',
    'shadowrootmode', 'is', 'archive', 'classid', 'codebase', 'dynsrc', 'lowsrc', 'imagesrcset']);
  const SOURCES = new Set(['img', 'iframe', 'frame', 'input']);
  // The content of these is code or not part of the tree, so only the element itself is kept.
  const EMPTIED = new Set(['script', 'style', 'noscript', 'template', 'link', 'meta', 'base',
    'noembed', 'noframes']);
  const NO_VALUE = new Set(['checkbox', 'radio', 'file', 'image', 'button', 'submit', 'reset']);
  const ATTRIBUTE_CHARS = 4000;
  const tokens = [];
  const styles = [];
  const known = new Map();
  const frames = [];
  let size = 0;
  let cut = false;

  const styleNumber = (text) => {
    if (!known.has(text)) {
      known.set(text, styles.length);
      styles.push(text);
    }
    return known.get(text);
  };
  const pseudo = (element, which) => {
    const content = dom.style(element, which).content;
    return !content || content === 'none' || content === 'normal' ? '' : content.slice(0, 300);
  };
  // [display, visibility, position, float, empty box?, ::before, ::after]
  const looks = (element, css, rendered, parentRendered, isHtml) => {
    const tag = dom.tag(element);
    let display = css.display || 'none';
    if (!rendered && parentRendered && tag !== 'option' && tag !== 'optgroup') display = 'none';
    let empty = false;
    if (isHtml && rendered && display !== 'contents' && tag !== 'br') {
      const box = dom.rect(element);
      empty = !(box.width > 0 && box.height > 0);
    }
    return JSON.stringify([display, css.visibility, css.position, css.float, empty,
      rendered ? pseudo(element, '::before') : '', rendered ? pseudo(element, '::after') : '']);
  };
  const attributes = (element, tag) => {
    const list = [];
    for (const { name, value } of Array.from(dom.attributes(element))) {
      const low = name.toLowerCase();
      if (low.startsWith('on') || low.startsWith('data-autoweb') || DROPPED.has(low)) continue;
      if (low === 'src' && !SOURCES.has(tag)) continue;
      if ((low === 'href' || low === 'xlink:href') && tag !== 'a' && tag !== 'area'
        && !value.startsWith('#')) continue;
      if (low === 'value' && tag === 'input' && dom.isSecret(element)) continue;
      list.push(name, String(value).slice(0, ATTRIBUTE_CHARS));
    }
    return list;
  };
  const state = (element, tag) => {
    const kept = {};
    if (tag === 'input') {
      const type = (dom.attr(element, 'type') || '').toLowerCase();
      if (type === 'checkbox' || type === 'radio') {
        kept.checked = dom.flag(element, 'checked');
        if (dom.flag(element, 'indeterminate')) kept.indeterminate = true;
      } else if (!NO_VALUE.has(type)) {
        const value = dom.value(element);
        const secret = dom.isSecret(element);
        if (secret) kept.secret = true;
        if (secret ? value !== '' : value !== (dom.attr(element, 'value') || '')) {
          kept.value = value.slice(0, 100000);
        }
      }
    } else if (tag === 'textarea') {
      kept.value = dom.value(element).slice(0, 100000);
    } else if (tag === 'select') {
      kept.selected = dom.query(element, 'option')
        .map((option, index) => (dom.flag(option, 'selected') ? index : -1))
        .filter((index) => index >= 0);
    } else if (tag === 'iframe' || tag === 'frame' || tag === 'object' || tag === 'embed') {
      kept.frame = frames.length;
      frames.push(element);
    }
    return kept;
  };
  const put = (token, length) => {
    size += length;
    tokens.push(token);
  };
  const SPACE = { 'http://www.w3.org/2000/svg': 1, 'http://www.w3.org/1998/Math/MathML': 2 };
  const within = (parent, rendered, depth) => {
    for (const child of Array.from(dom.childNodes(parent))) walk(child, rendered, depth);
  };
  const walk = (node, parentRendered, depth) => {
    if (size > limit || depth > 400) {
      cut = true;
      return;
    }
    if (dom.nodeType(node) === 3) {
      const text = dom.nodeValue(node);
      put(text, text.length);
    }
    if (!dom.isElement(node)) return;
    const tag = dom.tag(node);
    const space = SPACE[node.namespaceURI] || 0;
    if (space && (tag === 'script' || tag === 'style')) return;
    if (!space && EMPTIED.has(tag)) {
      tokens.push(['template', 0, [], -1, { was: tag }], 0);
      size += 60;
      return;
    }
    const css = dom.style(node);
    const rendered = dom.rendered(node, css);
    const list = attributes(node, tag);
    const look = styleNumber(looks(node, css, rendered, parentRendered, !space));
    // The names of other elements, such as linearGradient, are kept as they are written.
    put([space ? node.localName : tag, space, list, look, state(node, tag)], 40 + list.join('').length);
    const root = dom.shadow(node);
    if (root) {
      tokens.push(1);
      within(root, rendered, depth + 1);
      tokens.push(2);
    }
    within(node, rendered, depth + 1);
    tokens.push(0);
  };

  const top = document.documentElement;
  const body = document.body;
  if (body) walk(body, true, 0);
  else if (top) walk(top, true, 0);
  const json = dom.stringify({
    tokens,
    cut,
    title: document.title,
    standards: document.compatMode === 'CSS1Compat',
    root: top && body ? attributes(top, 'html') : [],
    rootLook: top && body ? styleNumber(looks(top, dom.style(top), true, true, false)) : -1,
    styles,
  });
  return { json, frames };
}
