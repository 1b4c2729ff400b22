// What a person sees of a page and can use on it: elements with their names, values and states, and
// the visible texts. It runs after `listeners.js`, and uses nothing of any tool.
(() => {
  const NATIVE = 'a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, '
    + '[contenteditable=""], [contenteditable=true], [contenteditable=plaintext-only]';
  const WIDGETS = new Set(['button', 'link', 'checkbox', 'radio', 'switch', 'tab', 'menuitem',
    'menuitemcheckbox', 'menuitemradio', 'option', 'treeitem', 'textbox', 'searchbox', 'combobox',
    'slider', 'spinbutton']);
  const UNSHOWN = new Set(['SCRIPT', 'STYLE', 'NOSCRIPT', 'TEMPLATE', 'HEAD', 'TITLE', 'OPTION',
    'OPTGROUP', 'DATALIST', 'TEXTAREA', 'INPUT', 'SELECT']);
  const flat = (text) => (text || '').replace(/[\s\u200b\ue000-\uf8ff]+/g, ' ').trim();
  const styleOf = (node) => node.ownerDocument.defaultView.getComputedStyle(node);
  const isElement = (node) => node && node.nodeType === 1;
  const parentOf = (node) => node.assignedSlot || node.parentElement
    || (node.getRootNode() !== node.ownerDocument && node.getRootNode().host) || null;
  const contains = (outer, node) => {
    for (let at = node; at; at = parentOf(at)) if (at === outer) return true;
    return false;
  };
  const childrenOf = (node) => {
    if (node.shadowRoot) return [...node.shadowRoot.childNodes];
    if (node.tagName === 'SLOT') {
      const given = node.assignedNodes({ flatten: true });
      if (given.length) return given;
    }
    if (node.tagName === 'DETAILS' && !node.open) {
      return [...node.children].filter((child) => child.tagName === 'SUMMARY').slice(0, 1);
    }
    return [...node.childNodes];
  };
  const innerDocument = (node) => {
    if (node.tagName !== 'IFRAME' && node.tagName !== 'FRAME') return null;
    try { return node.contentDocument; } catch { return null; }
  };
  const elements = [];
  const gather = (node) => {
    elements.push(node);
    const inside = innerDocument(node);
    if (inside && inside.documentElement && shown(node)) gather(inside.documentElement);
    childrenOf(node).filter(isElement).forEach(gather);
  };

  // The part of a box that boxes around it leave; those that a person can scroll leave all.
  const clipped = (rect, node, own = false) => {
    let [left, top, right, bottom] = [rect.left, rect.top, rect.right, rect.bottom];
    let fixed = false;
    for (let at = node; at; at = parentOf(at)) {
      const css = styleOf(at);
      if (/^inset\((50|100)%/.test(css.clipPath)) return null;
      if (/^rect\((0|1)px, (0|1)px, (0|1)px, (0|1)px\)/.test(css.clip)) return null;
      const cuts = /hidden|clip/.test(css.overflowX + css.overflowY)
        && css.display !== 'inline' && css.display !== 'contents';
      if (cuts && !fixed && (own || at !== node) && at.tagName !== 'BODY' && at.tagName !== 'HTML') {
        const box = at.getBoundingClientRect();
        if (css.overflowX !== 'auto' && css.overflowX !== 'scroll') {
          left = Math.max(left, box.left); right = Math.min(right, box.right);
        }
        if (css.overflowY !== 'auto' && css.overflowY !== 'scroll') {
          top = Math.max(top, box.top); bottom = Math.min(bottom, box.bottom);
        }
      }
      fixed = fixed || css.position === 'fixed';
    }
    const view = node.ownerDocument.defaultView;
    if (right + view.scrollX <= 0 || bottom + view.scrollY <= 0) return null;
    return right - left < 2 || bottom - top < 2 ? null : { left, top, right, bottom };
  };
  const shown = (node) => node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true });
  const rectsOf = (node) => {
    const own = [...node.getClientRects()].filter((r) => r.width > 1 && r.height > 1).slice(0, 6);
    if (own.length) return own;
    // A box without size of its own, such as a link around a floating picture.
    return childrenOf(node).filter((c) => isElement(c) && shown(c))
      .flatMap((c) => [...c.getClientRects()]).filter((r) => r.width > 1 && r.height > 1).slice(0, 3);
  };
  const deepest = (document, x, y) => {
    let hit = document.elementFromPoint(x, y);
    while (hit && hit.shadowRoot) {
      const inner = hit.shadowRoot.elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  };
  const POINTS = [[0.5, 0.5], [0.2, 0.5], [0.8, 0.5], [0.1, 0.2], [0.9, 0.8], [0.02, 0.5]];
  const hitAt = (node, rects, belongs) => {
    const view = node.ownerDocument.defaultView;
    return rects.some((rect) => {
      const part = clipped(rect, node);
      if (!part) return false;
      const left = Math.max(part.left, 0), right = Math.min(part.right, view.innerWidth);
      const top = Math.max(part.top, 0), bottom = Math.min(part.bottom, view.innerHeight);
      return right > left && bottom > top && POINTS.some(([x, y]) => {
        const hit = deepest(node.ownerDocument, left + (right - left) * x, top + (bottom - top) * y);
        return hit && belongs(hit);
      });
    });
  };
  // Boxes that scroll are left where they were, so that later elements are judged alike.
  const reached = (node, rectsNow, belongs) => {
    if (!rectsNow().some((rect) => clipped(rect, node))) return false;
    if (hitAt(node, rectsNow(), belongs)) return true;
    const moved = [];
    for (let at = node; at; at = parentOf(at)) moved.push([at, at.scrollLeft, at.scrollTop]);
    const root = node.ownerDocument.scrollingElement;
    if (root) moved.push([root, root.scrollLeft, root.scrollTop]);
    node.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
    const found = node.isConnected ? hitAt(node, rectsNow(), belongs) : true;
    moved.forEach(([at, x, y]) => { at.scrollLeft = x; at.scrollTop = y; });
    return found;
  };
  const labelsOf = (node) => [...(node.labels || [])];
  const reachable = (node) => {
    const direct = shown(node) && reached(node, () => rectsOf(node), (hit) => contains(node, hit));
    return direct || labelsOf(node).some((label) => shown(label)
      && reached(label, () => rectsOf(label), (hit) => contains(label, hit)));
  };

  // Texts: what stands together in one block, and apart from controls.
  const range = document.createRange();
  const pieces = (root, stops) => {
    const found = [];
    let [text, first] = ['', null];
    const flush = () => {
      if (flat(text)) found.push({ text: flat(text), node: first });
      [text, first] = ['', null];
    };
    const visit = (node) => {
      if (node.nodeType === 3) {
        const parent = parentOf(node);
        if (!/\S/.test(node.data)) { text += ' '; return; }
        if (!parent || !shown(parent)) return;
        range.selectNodeContents(node);
        const rects = [...range.getClientRects()];
        if (!rects.some((rect) => clipped(rect, node.parentElement || parent, true))) return;
        text += node.data; first = first || node;
        return;
      }
      if (!isElement(node) || UNSHOWN.has(node.tagName)) {
        if (isElement(node) && ['SELECT', 'INPUT', 'TEXTAREA'].includes(node.tagName)) flush();
        return;
      }
      const css = styleOf(node);
      if (css.display === 'none') return;
      const apart = !/^(inline$|contents|ruby)/.test(css.display) || node.tagName === 'BR'
        || (node !== root && stops.has(node));
      if (apart) flush();
      const inside = innerDocument(node);
      if (inside && inside.body && shown(node)) { flush(); visit(inside.body); flush(); }
      childrenOf(node).forEach(visit);
      if (apart) flush();
    };
    visit(root);
    flush();
    return found;
  };

  gather(document.documentElement);
  const roleOf = (node) => (node.getAttribute('role') || '').trim().split(/\s+/)[0];
  const isNative = (node) => node.matches(NATIVE)
    && !(node.tagName === 'SUMMARY' && node.parentElement && node.parentElement.tagName !== 'DETAILS')
    && !(node.isContentEditable && parentOf(node) && parentOf(node).isContentEditable);
  const controls = new Set(elements.filter((node) => isNative(node) || WIDGETS.has(roleOf(node))));
  const insideControl = (node) => {
    for (let at = parentOf(node); at; at = parentOf(at)) {
      if (controls.has(at) || (at.tagName === 'LABEL' && at.control)) return true;
    }
    return false;
  };
  const area = (node) => {
    const box = node.getBoundingClientRect();
    return box.width * box.height;
  };
  const within = (outer, set) => [...set].filter((node) => node !== outer && contains(outer, node));
  const pointed = (node) => styleOf(node).cursor === 'pointer';
  const unowned = elements.filter((node) => !controls.has(node) && !insideControl(node)
    && !['HTML', 'BODY', 'OPTION', 'SLOT'].includes(node.tagName)
    && !(node.tagName === 'LABEL' && node.control) && !(node instanceof SVGElement
      && node.ownerSVGElement));
  const regions = new Set(unowned.filter((node) => pointed(node)
    && !(parentOf(node) && pointed(parentOf(node)) && parentOf(node).tagName !== 'BODY')));
  const pressed = (node) => {
    const heard = node.ownerDocument.defaultView.truthPressed;
    return heard && heard.has(node);
  };
  const textOf = (node) => pieces(node, new Set()).map((piece) => piece.text);
  // A box around one control that does the same is no second one.
  for (const region of Array.from(regions)) {
    const inner = within(region, controls).filter(shown);
    const said = textOf(region).join(' ');
    if (inner.length === 1 && (textOf(inner[0]).join(' ') === said || area(inner[0]) > 0.6 * area(region))) {
      regions.delete(region);
    }
  }
  const page = window.innerWidth * window.innerHeight;
  const known = new Set([...controls, ...regions]);
  const heard = unowned.filter((node) => !regions.has(node) && pressed(node)
    && area(node) < page / 4 && !within(node, known).some(shown)
    && ![...regions].some((region) => contains(region, node)));
  for (const node of heard) {
    if (!heard.some((other) => other !== node && contains(node, other))) known.add(node);
  }
  const kept = elements.filter((node) => known.has(node) && (node.isConnected) && reachable(node));

  const idTexts = (node, attribute) => (node.getAttribute(attribute) || '').split(/\s+/).filter(Boolean)
    .map((id) => node.getRootNode().getElementById && node.getRootNode().getElementById(id))
    .filter(Boolean).map((other) => flat(other.textContent)).join(' ');
  const namesOf = (node) => {
    const texts = textOf(node);
    const holds = /^(INPUT|TEXTAREA|SELECT)$/.test(node.tagName);
    const button = node.tagName === 'INPUT' && /^(submit|button|reset)$/.test(node.type);
    const unlabelled = { submit: 'Submit', reset: 'Reset' }[node.type];
    const names = [node.getAttribute('aria-label'), idTexts(node, 'aria-labelledby'),
      ...labelsOf(node).map((label) => textOf(label).join(' ')),
      ...labelsOf(node).map((label) => label.textContent),
      ...labelsOf(node).flatMap((label) => [...label.querySelectorAll('img[alt]')]
        .map((image) => image.alt)),
      ...(button ? [node.value || unlabelled] : []), node.getAttribute('alt'),
      ...(holds ? [] : [texts.join(' '), texts[0]]),
      ...[...node.querySelectorAll('img[alt], [aria-label], [title], svg title')].slice(0, 5).map((inner) => (
        inner.getAttribute('alt') || inner.getAttribute('aria-label') || inner.getAttribute('title')
        || inner.textContent)),
      node.getAttribute('title'), node.getAttribute('placeholder'),
    ];
    return [...new Set(names.map(flat).filter(Boolean).map((name) => name.slice(0, 300)))];
  };
  const kindOf = (node) => {
    const role = roleOf(node);
    if (WIDGETS.has(role)) return role;
    const tag = node.tagName;
    if (tag === 'A' && controls.has(node)) return 'link';
    if (tag === 'SELECT') return node.multiple || node.size > 1 ? 'listbox' : 'combobox';
    if (tag === 'TEXTAREA' || (node.isContentEditable && controls.has(node))) return 'textbox';
    if (tag === 'INPUT') {
      if (['checkbox', 'radio', 'file'].includes(node.type)) return node.type;
      if (['submit', 'button', 'reset', 'image'].includes(node.type)) return 'button';
      return { range: 'slider', number: 'spinbutton' }[node.type] || (node.list ? 'combobox' : 'textbox');
    }
    return tag === 'BUTTON' ? 'button' : 'clickable';
  };
  const CHOSEN = /^(is-)?(active|selected|checked|current)$/i;
  // A choice that only a class tells: one of several alike that has it.
  const chosenByClass = (node) => {
    for (const at of [node, node.parentElement].filter(Boolean)) {
      const like = at.parentElement ? [...at.parentElement.children].filter((other) => (
        other.tagName === at.tagName && (known.has(other) || within(other, known).length))) : [];
      const has = (other) => [...other.classList].some((word) => CHOSEN.test(word));
      if (like.length > 1 && has(at) && like.some((other) => !has(other))) return true;
    }
    return false;
  };
  const statesOf = (node) => {
    const said = (name) => node.getAttribute(`aria-${name}`);
    const open = node.tagName === 'SUMMARY' ? String(node.parentElement.open) : said('expanded');
    const states = [];
    if (node.checked === true || said('checked') === 'true') states.push('checked');
    if (node.matches(':disabled') || said('disabled') === 'true') states.push('disabled');
    if (open === 'true') states.push('expanded');
    if (open === 'false') states.push('collapsed');
    if (said('selected') === 'true') states.push('selected');
    if (said('pressed') === 'true') states.push('pressed');
    const current = said('current') && said('current') !== 'false';
    if (current || (!states.length && chosenByClass(node))) states.push('chosen');
    return states;
  };
  const isSecret = (node) => node.type === 'password';
  const valueOf = (node) => {
    if (node.tagName === 'TEXTAREA') return node.value;
    if (node.tagName !== 'INPUT' || isSecret(node)
      || /^(checkbox|radio|submit|button|reset|image|file|color)$/.test(node.type)) return '';
    return node.value;
  };
  const optionsOf = (node) => (node.tagName !== 'SELECT' ? [] : [...node.options].map((option) => ({
    text: flat(option.label || option.text), chosen: option.selected, disabled: option.disabled,
  })));
  window.top.truthElements = kept;
  const described = kept.map((node) => ({
    kind: kindOf(node), tag: node.tagName.toLowerCase(), names: namesOf(node), states: statesOf(node),
    value: valueOf(node), options: optionsOf(node),
    placeholder: valueOf(node) ? '' : flat(node.placeholder),
  }));
  const stops = new Set(kept);
  const texts = pieces(document.body, stops).filter(({ node }) => {
    const parent = parentOf(node);
    if (styleOf(parent).pointerEvents === 'none') return true;
    const rects = () => { range.selectNodeContents(node); return [...range.getClientRects()].slice(0, 4); };
    return reached(parent, rects, (hit) => contains(parent, hit) || contains(hit, parent));
  }).map((piece) => piece.text).filter((text) => !/^[\p{P}\s|]+$/u.test(text));
  return { elements: described, texts };
})()
