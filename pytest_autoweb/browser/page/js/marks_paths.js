// Returns data for XPath expressions and other paths to each element; uniqueness is counted here.
({ dom, elements: made }, only) => {
  const TESTS = ['data-testid', 'data-test', 'data-qa', 'data-cy'];
  const squeeze = (text) => text.replace(/[ \t\r\n]+/g, ' ').replace(/^ | $/g, '');
  const tail = (href) => {
    const end = href.endsWith('/') ? href.length - 1 : href.length;
    const from = href.lastIndexOf('/', end - 1);
    return from > 0 ? href.slice(from) : '';
  };
  const indexes = new Map();
  const count = (map, key) => map.set(key, (map.get(key) || 0) + 1);
  // Counts how often each value occurs in the light tree, which is all that XPath searches.
  const indexOf = (owner, tags) => {
    if (indexes.has(owner)) return indexes.get(owner);
    const counts = new Map();
    for (const element of dom.query(owner, '*')) {
      const tag = dom.tag(element);
      const id = dom.attr(element, 'id');
      if (id) count(counts, `id\n${id}`);
      for (const name of TESTS) {
        const value = dom.attr(element, name);
        if (value) count(counts, `${name}\n${value}`);
      }
      const label = dom.attr(element, 'aria-label');
      if (label) count(counts, `aria-label\n${tag}\n${label}`);
      const href = tag === 'a' ? dom.attr(element, 'href') : null;
      if (href) count(counts, `href\n${tail(href)}`);
      if (tags.has(tag)) count(counts, `text\n${tag}\n${squeeze(element.textContent || '')}`);
    }
    indexes.set(owner, counts);
    return counts;
  };
  // The position among siblings of the same name, from 1 on, or 0 if there is only one.
  const placed = new Map();
  const place = (above) => {
    const alike = new Map();
    for (const child of dom.childNodes(above)) {
      if (!dom.isElement(child)) continue;
      const tag = dom.tag(child);
      if (!alike.has(tag)) alike.set(tag, []);
      alike.get(tag).push(child);
    }
    for (const children of alike.values()) {
      children.forEach((child, i) => placed.set(child, children.length > 1 ? i + 1 : 0));
    }
  };
  const position = (element) => {
    if (!placed.has(element)) {
      const above = dom.parentNode(element);
      if (!above) return 0;
      place(above);
    }
    return placed.get(element);
  };
  const html = (element) => element.namespaceURI === 'http://www.w3.org/1999/xhtml'
    && element.ownerDocument.contentType === 'text/html' && /^[a-z][a-z0-9-]*$/.test(dom.tag(element));
  const xpathStep = (element) => {
    const at = position(element);
    return `${html(element) ? dom.tag(element) : `*[name()='${element.nodeName}']`}${at ? `[${at}]` : ''}`;
  };
  const cssStep = (element) => {
    const at = position(element);
    return `${CSS.escape(dom.tag(element))}${at ? `:nth-of-type(${at})` : ''}`;
  };
  const shadowPath = (element) => {
    const parts = [];
    for (let node = element, depth = 0; node && depth < 300; depth += 1) {
      const above = dom.parentNode(node);
      const cross = above && dom.nodeType(above) === 11;
      parts.unshift(cross ? ' ' : ' > ', cssStep(node));
      node = cross ? above.host : above && dom.isElement(above) ? above : null;
    }
    return parts.slice(1).join('');
  };
  const facts = (element, tags) => {
    const owner = element.ownerDocument;
    const tag = dom.tag(element);
    if (element.getRootNode() !== owner) return { css: shadowPath(element) };
    const index = indexOf(owner, tags);
    const once = (key) => index.get(key) === 1;
    const own = (name) => dom.attr(element, name) || '';
    const steps = [];
    let anchor = null;
    for (let node = element; node && dom.isElement(node); node = dom.parentNode(node)) {
      const id = dom.attr(node, 'id');
      if (node !== element && id && !anchor && once(`id\n${id}`)) {
        anchor = { id, steps: steps.slice() };
      }
      steps.unshift(xpathStep(node));
    }
    const text = squeeze(element.textContent || '');
    const href = tag === 'a' ? tail(own('href')) : '';
    return {
      css: '', tag: html(element) ? tag : '*', steps, anchor,
      id: own('id') && once(`id\n${own('id')}`) ? own('id') : '',
      tests: TESTS.filter((n) => own(n) && once(`${n}\n${own(n)}`)).map((n) => [n, own(n)]),
      label: own('aria-label') && once(`aria-label\n${tag}\n${own('aria-label')}`) ? own('aria-label') : '',
      href: href && once(`href\n${href}`) ? href : '',
      text: text && once(`text\n${tag}\n${text}`) ? text : '',
    };
  };
  const chosen = only === undefined || only === null ? made.elements.map((_, i) => i) : [only];
  const tags = new Set(chosen.map((i) => dom.tag(made.elements[i])));
  const known = new Map();
  const once = (element) => {
    if (!known.has(element)) known.set(element, facts(element, tags));
    return known.get(element);
  };
  return chosen.map((i) => ({ own: once(made.elements[i]), frames: made.frames[i].map(once) }));
}
