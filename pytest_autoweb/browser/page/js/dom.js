// DOM accessors that work even if the page overrides methods or has a field named "attributes".
() => {
  const getter = (proto, name) => {
    const read = Object.getOwnPropertyDescriptor(proto, name).get;
    return (node) => read.call(node);
  };
  const childNodes = getter(Node.prototype, 'childNodes');
  const firstChild = getter(Node.prototype, 'firstChild');
  const nextSibling = getter(Node.prototype, 'nextSibling');
  const nodeType = getter(Node.prototype, 'nodeType');
  const parentNode = getter(Node.prototype, 'parentNode');
  const nodeValue = getter(Node.prototype, 'nodeValue');
  const shadow = getter(Element.prototype, 'shadowRoot');
  const localName = getter(Element.prototype, 'localName');
  const attributes = getter(Element.prototype, 'attributes');
  const assignedSlot = getter(Element.prototype, 'assignedSlot');
  const call = (name) => {
    const method = Element.prototype[name];
    return (element, ...args) => method.apply(element, args);
  };
  const attr = call('getAttribute');
  const has = call('hasAttribute');
  // The page may have replaced this method; its old alias does the same.
  const untouched = Function.prototype.toString.call(Element.prototype.matches).includes('[native');
  const matches = call(untouched ? 'matches' : 'webkitMatchesSelector');
  const closest = call('closest');
  const rect = call('getBoundingClientRect');
  const query = (root, selector) => {
    const proto = nodeType(root) === 1 ? Element.prototype : nodeType(root) === 9
      ? Document.prototype : DocumentFragment.prototype;
    return Array.from(proto.querySelectorAll.call(root, selector));
  };
  const isElement = (node) => nodeType(node) === 1;
  const tag = (element) => localName(element).toLowerCase();
  const view = (element) => {
    const own = element.ownerDocument;
    return own === document ? window : own.defaultView || window;
  };
  const style = (element, pseudo) => view(element).getComputedStyle(element, pseudo);
  const assigned = (slot) => HTMLSlotElement.prototype.assignedNodes.call(slot, { flatten: true });

  // Children as rendered: a shadow root replaces the light children, which appear in its slots.
  const listed = (node) => {
    const found = [];
    for (let at = firstChild(node); at; at = nextSibling(at)) found.push(at);
    return found;
  };
  const children = (element) => {
    const root = shadow(element);
    if (root) return listed(root);
    const kind = localName(element);
    if (kind === 'slot') {
      const given = assigned(element);
      if (given.length) return given;
    }
    if (kind === 'details' && !has(element, 'open')) {
      return listed(element).filter((child) => isElement(child) && tag(child) === 'summary').slice(0, 1);
    }
    return listed(element);
  };
  const hollow = (element) => {
    const special = shadow(element) || ['slot', 'details'].includes(localName(element));
    return special ? !children(element).length : !firstChild(element);
  };
  // Tells whether a test holds of an element or of one above it; each is tested once.
  const within = (test) => {
    const known = new Map();
    const ask = (element) => {
      if (!known.has(element)) {
        const above = parentNode(element);
        known.set(element, test(element) || Boolean(above && isElement(above) && ask(above)));
      }
      return known.get(element);
    };
    return ask;
  };
  const parent = (node) => {
    const slot = isElement(node) ? assignedSlot(node) : null;
    const above = slot || parentNode(node);
    if (!above) return null;
    if (nodeType(above) === 11) return above.host || null;
    return isElement(above) ? above : null;
  };
  const checkVisibility = Element.prototype.checkVisibility && call('checkVisibility');
  const rendered = (element, known) => {
    if (checkVisibility && checkVisibility(element)) return true;
    const css = known || style(element);
    if (!css || css.display === 'none') return false;
    return css.display === 'contents' || !checkVisibility;
  };
  // Visible in Playwright's sense: the box is not empty, and there is no `visibility: hidden`.
  const visible = (element) => {
    const css = style(element);
    if (!rendered(element, css)) return false;
    if (css.visibility !== 'visible') return false;
    const box = rect(element);
    return box.width > 0 && box.height > 0;
  };
  // Placed outside the document, where scrolling cannot reach it.
  const reachable = (element) => {
    const box = rect(element);
    const at = view(element);
    return box.right + at.scrollX > 0 && box.bottom + at.scrollY > 0;
  };

  const SECRET_FIELDS = new Set(['current-password', 'new-password', 'one-time-code',
    'cc-number', 'cc-csc']);
  const isSecret = (element) => {
    if (tag(element) !== 'input') return false;
    const type = (attr(element, 'type') || '').toLowerCase();
    if (type === 'password' || type === 'hidden') return true;
    const complete = (attr(element, 'autocomplete') || '').toLowerCase().split(/\s+/);
    return complete.some((word) => SECRET_FIELDS.has(word));
  };
  const VALUE = {};
  for (const kind of ['Input', 'TextArea', 'Select']) {
    VALUE[kind.toLowerCase()] = getter(window[`HTML${kind}Element`].prototype, 'value');
  }
  const value = (element) => (VALUE[tag(element)] ? VALUE[tag(element)](element) : '');
  const held = (element) => value(element) || element.textContent || '';
  const flag = (element, name) => {
    const own = { input: HTMLInputElement, option: HTMLOptionElement }[tag(element)];
    return own && name in own.prototype ? Boolean(getter(own.prototype, name)(element)) : false;
  };
  const clean = (text) => text.replace(/[\u200b\ufeff\u00ad]/g, '').replace(/\s+/g, ' ').trim();
  const editable = (element) => {
    const said = attr(element, 'contenteditable');
    return said === '' || said === 'true' || said === 'plaintext-only';
  };
  // Scripts cannot query event listeners, but common libraries store their own on the element.
  const NOTES = [
    (key, kept) => key.startsWith('__reactProps$') && kept.onClick,
    (key, kept) => key === '_vei' && kept.onClick,
    (key) => key === '__onclick',
    (key, kept) => key === '__on' && Array.from(kept).some((on) => on.type === 'click'),
    (key, kept) => key.startsWith('jQuery') && kept.events && kept.events.click,
  ];
  const listens = (element) => {
    try {
      if (Object.keys(element).some(
        (key) => NOTES.some((note) => element[key] && note(key, element[key])))) return true;
      const lib = element.ownerDocument.defaultView.jQuery;
      const events = lib && typeof lib._data === 'function' ? lib._data(element, 'events') : null;
      return Boolean(events && events.click);
    } catch {
      return false;
    }
  };

  // Old libraries add a toJSON to arrays that turns them into strings.
  const stringify = (result) => {
    const taken = [];
    for (const proto of [Object.prototype, Array.prototype, String.prototype, Number.prototype]) {
      const own = Object.getOwnPropertyDescriptor(proto, 'toJSON');
      if (own && own.configurable) {
        taken.push([proto, own]);
        delete proto.toJSON;
      }
    }
    try {
      return JSON.stringify(result === undefined ? null : result);
    } finally {
      for (const [proto, own] of taken) Object.defineProperty(proto, 'toJSON', own);
    }
  };
  return {
    nodeType, nodeValue, shadow, attributes, attr, has, matches, closest, rect, query, isElement,
    tag, style, children, hollow, within, childNodes, parent, parentNode, rendered, visible, reachable, isSecret,
    value, held, flag, clean, editable, listens, stringify,
  };
}
