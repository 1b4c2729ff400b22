// Returns the links of a list page with their positions, or all elements that an XPath finds.
// arg: {xpath}; "" asks for all links. If `elements` is given, only their positions are returned.
({ dom, elements }, { xpath = '' } = {}) => {
  const LIMIT = 2000;
  const FACTS = ['id', 'role', 'rel', 'itemprop'];
  const NESTED = 'a[href], area[href]';
  const clip = (text) => dom.clean(text).slice(0, 160);
  const sameTag = (element) => {
    const above = dom.parentNode(element);
    return above ? Array.from(dom.childNodes(above)).filter(
      (node) => dom.isElement(node) && dom.tag(node) === dom.tag(element)) : [element];
  };
  const facts = (element) => {
    const found = FACTS.map((name) => [name, dom.attr(element, name) || '']);
    for (const word of (dom.attr(element, 'class') || '').split(/\s+/).slice(0, 8)) {
      found.push(['class', word]);
    }
    return found.filter(([, value]) => value);
  };
  // Outermost first; empty inside a shadow root, which XPath cannot enter.
  const chain = (element) => {
    const steps = [];
    let at = element;
    while (at && dom.nodeType(at) === 1) {
      steps.unshift([dom.tag(at), sameTag(at).indexOf(at) + 1, facts(at)]);
      at = dom.parentNode(at);
    }
    return at && dom.nodeType(at) === 9 ? steps : [];
  };
  const fullPath = (element) => chain(element).map(([tag, position]) => `/${tag}[${position}]`).join('');
  const linkOf = (element) => {
    if (dom.matches(element, NESTED)) return element;
    const above = dom.closest(element, NESTED);
    if (above) return above;
    const inside = dom.query(element, NESTED);
    return inside.length === 1 ? inside[0] : null;
  };
  const seen = (element) => clip(element.innerText || element.textContent || '')
    || clip(dom.attr(element, 'aria-label') || dom.attr(element, 'title') || '');
  const fact = (element) => {
    const link = linkOf(element);
    return {
      href: link ? dom.attr(link, 'href') || '' : '',
      text: seen(element),
      chain: chain(link || element),
      path: fullPath(element),
    };
  };
  const everyLink = (root, depth, found) => {
    for (const element of dom.query(root, '*')) {
      if (found.length >= LIMIT) return found;
      if (dom.matches(element, NESTED)) found.push(element);
      const inner = dom.shadow(element);
      if (inner && depth < 10) everyLink(inner, depth + 1, found);
    }
    return found;
  };
  const byPath = () => {
    const hits = document.evaluate(xpath, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null);
    const found = [];
    for (let n = 0; n < Math.min(hits.snapshotLength, LIMIT); n += 1) {
      const node = hits.snapshotItem(n);
      if (dom.isElement(node)) found.push(node);
    }
    return found;
  };
  let wanted = [];
  let problem = '';
  try {
    wanted = elements || (xpath ? byPath() : everyLink(document, 0, []));
  } catch (error) {
    problem = String(error.message || error).slice(0, 200);
  }
  return {
    base: document.baseURI,
    problem,
    items: wanted.filter((element) => dom.rendered(element)).map(fact),
  };
}
