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
  return { shows };
}
