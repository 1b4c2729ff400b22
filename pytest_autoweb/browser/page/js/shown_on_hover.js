// Tells which hidden elements the page's styles show while the mouse is over something else.
(dom) => {
  const RULES = 20000;
  const SELECTORS = 300;
  const ABOVE = 8;
  const HIDES = { display: 'none', visibility: 'hidden', opacity: '0' };
  const tells = (style, hiding) => Object.entries(HIDES).some(([name, hidden]) => {
    const value = style.getPropertyValue(name);
    return value && (value === hidden) === hiding;
  });
  const nested = (selector, outer) => {
    if (!outer) return selector;
    return selector.includes('&') ? selector.replaceAll('&', `:is(${outer})`)
      : `:is(${outer}) ${selector}`;
  };
  // Returns selectors of what a rule shows, as if the mouse were everywhere.
  const shownBy = (rule, selector) => {
    if (!selector.includes(':hover') || selector.includes('::')) return '';
    if (selector.includes(':not(:hover)')) {
      return tells(rule.style, true) ? selector.replaceAll(':not(:hover)', ':is(*)') : '';
    }
    return tells(rule.style, false) ? selector.replaceAll(':hover', ':is(*)') : '';
  };
  const selectorsOf = (root) => {
    const found = new Set();
    let left = RULES;
    const visit = (rules, outer, view) => {
      for (const rule of rules) {
        left -= 1;
        if (left < 0 || found.size >= SELECTORS) return;
        const condition = rule.media && rule.media.mediaText;
        if (condition && view && !view.matchMedia(condition).matches) continue;
        const own = rule.selectorText ? nested(rule.selectorText, outer) : outer;
        if (rule.selectorText && rule.style) found.add(shownBy(rule, own));
        if (rule.cssRules && rule.cssRules.length) visit(rule.cssRules, own, view);
      }
    };
    const view = (root.ownerDocument || root).defaultView;
    for (const sheet of [...(root.styleSheets || []), ...(root.adoptedStyleSheets || [])]) {
      try {
        visit(sheet.cssRules, '', view);
      } catch {
        // A style sheet of another origin cannot be read.
      }
    }
    found.delete('');
    return [...found];
  };
  const known = new Map();
  const selectors = (root) => {
    if (!known.has(root)) {
      try {
        known.set(root, selectorsOf(root));
      } catch {
        known.set(root, []);
      }
    }
    return known.get(root);
  };
  const matches = (element, selector) => {
    try {
      return dom.matches(element, selector);
    } catch {
      return false;
    }
  };
  // Returns whether an element is shown when the mouse is over the right part of the page; an
  // element within one that is shown, too.
  const shows = (element) => {
    const wanted = selectors(Node.prototype.getRootNode.call(element));
    for (let up = element, step = 0; wanted.length && up && step < ABOVE; step += 1) {
      const at = up;
      if (wanted.some((selector) => matches(at, selector))) return true;
      up = dom.parent(up);
    }
    return false;
  };
  const LISTS = 4000;
  // A list of selectors, split at its own commas.
  const single = (selector) => {
    const found = [''];
    let depth = 0;
    for (const char of selector.slice(0, LISTS)) {
      if ('([{'.includes(char)) depth += 1;
      if (')]}'.includes(char)) depth -= 1;
      if (char === ',' && !depth) found.push('');
      else found[found.length - 1] += char;
    }
    return found.map((one) => one.trim());
  };
  const whole = new Map();
  // Returns what has to be under the mouse for an element itself to be shown; null if nothing does.
  const shownOver = (element) => {
    const root = Node.prototype.getRootNode.call(element);
    const wanted = selectors(root);
    if (!whole.has(root)) whole.set(root, wanted.length ? `:is(${wanted.join(',')})` : '');
    if (!whole.get(root) || !matches(element, whole.get(root))) return null;
    const own = wanted.flatMap(single).filter((one) => one.includes(':is(*)'))
      .find((one) => matches(element, one));
    const before = own ? own.slice(0, own.indexOf(':is(*)')) : '';
    try {
      const over = dom.closest(element, /(?:^|[\s>+~])$/.test(before) ? `${before}*` : before);
      if (over && over !== element) return over;
    } catch {
      // The selector ends within brackets.
    }
    return dom.parent(element);
  };
  return { shows, shownOver };
}
