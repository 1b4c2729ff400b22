// Lists, in reading order, the elements that can be acted on and the text between them.
({ dom, aria, selectors }, limit) => {
  const ROLES = new Set(['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio',
    'switch', 'slider', 'spinbutton', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'option', 'treeitem', 'listbox']);
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'option', 'optgroup',
    'datalist', 'svg', 'canvas', 'video', 'audio', 'object', 'embed']);
  // These act as one element, so their content is not listed again.
  const WHOLE = new Set(['button', 'link', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'checkbox', 'radio', 'switch', 'option', 'clickable']);
  const ROW_CHARS = 120;
  const ROW_CONTROLS = 3;
  const elements = [];
  const entries = [];
  let buffer = '';

  const flush = () => {
    const text = dom.clean(buffer.replace(/(?:\s*\|\s*)+$/, '').replace(/^(?:\s*\|\s*)+/, ''));
    buffer = '';
    if (/[\p{L}\p{N}]/u.test(text) && entries.length < limit * 3) entries.push({ k: 't', text });
  };
  const state = (element, role) => {
    const found = [];
    const aria3 = (name) => dom.attr(element, `aria-${name}`);
    if (dom.flag(element, 'checked') || aria3('checked') === 'true') found.push('checked');
    if (aria3('selected') === 'true') found.push('selected');
    if (aria3('expanded') === 'true') found.push('expanded');
    if (aria3('expanded') === 'false' && role !== 'combobox') found.push('collapsed');
    if (aria3('pressed') === 'true') found.push('pressed');
    const current = aria3('current');
    if (current && current !== 'false') found.push('current');
    if (dom.matches(element, ':disabled') || dom.closest(element, '[aria-disabled="true"]')) {
      found.push('disabled');
    }
    if (dom.matches(element, ':read-only') && dom.has(element, 'readonly')) found.push('readonly');
    if (dom.has(element, 'required') || aria3('required') === 'true') found.push('required');
    return found;
  };
  const options = (element) => {
    if (dom.tag(element) !== 'select') return { options: [], chosen: [] };
    const all = dom.query(element, 'option');
    const label = (option) => dom.clean(dom.attr(option, 'label') || option.textContent || '');
    return {
      options: all.slice(0, 100).map(label),
      chosen: all.filter((option) => dom.flag(option, 'selected')).map(label),
    };
  };
  const keys = (element, tag) => ({
    handle: dom.attr(element, 'id') || dom.clean(dom.attr(element, 'class') || ''),
    testid: dom.attr(element, 'data-testid') || '',
    placeholder: dom.clean(dom.attr(element, 'placeholder') || ''),
    css: [
      dom.attr(element, 'id') ? `#${CSS.escape(dom.attr(element, 'id'))}` : '',
      dom.attr(element, 'name') ? `${tag}[name=${selectors.quoted(dom.attr(element, 'name'))}]` : '',
      selectors.path(element),
    ].filter(Boolean),
  });
  const add = (element, role, name, extra) => {
    if (elements.length >= limit) return;
    const tag = dom.tag(element);
    const secret = dom.isSecret(element);
    const type = tag === 'input' ? (dom.attr(element, 'type') || 'text').toLowerCase() : '';
    const ticks = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file'].includes(type);
    const field = !ticks && ['input', 'textarea'].includes(tag);
    const rich = role === 'textbox' && !field;
    entries.push({
      k: 'e', i: elements.length, tag, role, name, type, secret,
      label: aria.labelText(element),
      states: state(element, role),
      value: secret ? '' : field ? dom.value(element).slice(0, 200)
        : rich ? dom.clean(element.textContent || '').slice(0, 200) : '',
      filled: secret && field && dom.value(element) !== '',
      range: ['min', 'max', 'step'].map((key) => dom.attr(element, key) || ''),
      rich,
      ...options(element),
      ...keys(element, tag),
      ...extra,
    });
    elements.push(element);
  };
  const pointer = (element) => {
    if (dom.style(element).cursor !== 'pointer') return false;
    const above = dom.parent(element);
    return !above || dom.style(above).cursor !== 'pointer';
  };
  const explicit = (element) => dom.has(element, 'onclick') || dom.listens(element);
  const clickable = (element) => explicit(element) || pointer(element)
    || dom.tag(element) === 'summary'
    || (dom.has(element, 'tabindex') && Number(dom.attr(element, 'tabindex')) >= 0);
  const INNER = 'a[href], button, input, select, textarea, summary, [role=button], [role=link], '
    + '[role=tab], [role=checkbox], [role=radio], [role=menuitem], [role=option], [onclick]';
  const innerCount = (element) => dom.query(element, '*').filter(
    (inner) => (dom.matches(inner, INNER) || dom.listens(inner)) && dom.visible(inner)).length;
  // A clickable region is listed as one element only if its text reads as one.
  const single = (element) => {
    if (innerCount(element)) return false;
    const blocks = dom.query(element, '*').filter((inner) => !dom.style(inner).display.startsWith('inline')
      && dom.visible(inner) && dom.clean(inner.textContent || ''));
    const leaves = blocks.filter((inner) => !blocks.some(
      (other) => other !== inner && inner.contains(other)));
    return leaves.length < 3 || explicit(element);
  };
  const controlOf = (label) => {
    const control = label.control;
    return control && dom.isElement(control) ? control : null;
  };
  const hiddenTick = (element) => {
    if (dom.tag(element) !== 'label') return null;
    const control = controlOf(element);
    const kind = control ? aria.role(control) : '';
    return ['checkbox', 'radio'].includes(kind) && !dom.visible(control) ? control : null;
  };
  const modal = dom.query(document, 'dialog').filter((d) => dom.matches(d, ':modal')).pop();

  const inside = (element, depth, mute) => {
    for (const child of dom.children(element)) walk(child, depth + 1, mute);
  };
  const asElement = (element, tag) => {
    const role = aria.role(element);
    if (role && ROLES.has(role)) return [role, aria.name(element, role), {}];
    if (dom.editable(element)) return ['textbox', aria.name(element, 'textbox'), { bare: role !== 'textbox' }];
    const hidden = hiddenTick(element);
    if (hidden) {
      return [aria.role(hidden), dom.clean(aria.content(element, null)),
        { bare: true, viaLabel: true, states: state(hidden, aria.role(hidden)) }];
    }
    if (tag === 'label' || tag === 'body' || tag === 'html' || !clickable(element)) return null;
    const name = dom.clean(aria.content(element, null)) || aria.name(element, role);
    if (single(element)) return ['clickable', name, { bare: true }];
    // Such a region may be a row that opens something and also contains a few buttons.
    const row = explicit(element) && name && name.length <= ROW_CHARS
      && innerCount(element) <= ROW_CONTROLS;
    return row ? ['clickable', name, { bare: true, row: true }] : null;
  };
  const walk = (node, depth, mute) => {
    if (depth > 400 || elements.length >= limit) return;
    if (dom.nodeType(node) === 3) {
      const above = dom.parent(node);
      if (!mute && above && dom.style(above).visibility === 'visible') buffer += dom.nodeValue(node);
      return;
    }
    if (!dom.isElement(node)) return;
    const tag = dom.tag(node);
    if (tag === 'br') buffer += ' ';
    if (SKIPPED.has(tag)) {
      if (tag === 'svg' && !mute) svg(node);
      return;
    }
    const css = dom.style(node);
    if (css.display === 'none' || !dom.rendered(node) || dom.has(node, 'inert')) return;
    if (tag === 'iframe' || tag === 'frame') {
      frame(node, tag);
      return;
    }
    if (['absolute', 'fixed'].includes(css.position) && !dom.reachable(node)) return;
    const hides = dom.attr(node, 'aria-hidden') === 'true';
    const made = dom.visible(node) && dom.reachable(node) ? asElement(node, tag) : null;
    if (made && !(hides && made[0] === 'clickable' && !made[1])) {
      flush();
      add(node, ...made);
      if (made[2].row) {
        inside(node, depth, true);
        return;
      }
      if (WHOLE.has(made[0]) || made[2].rich || ['input', 'select', 'textarea'].includes(tag)
        || dom.editable(node)) return;
    }
    const inline = css.display.startsWith('inline') || css.display === 'contents';
    const cell = css.display === 'table-cell';
    if (!inline && !cell) flush();
    // The text of a label is omitted, because it is the name of a control, which is listed.
    const labels = tag === 'label' && controlOf(node) && dom.visible(controlOf(node));
    if (labels) labelled(node, depth);
    else inside(node, depth, mute);
    if (cell && buffer.trim()) buffer += ' | ';
    else if (!inline && !cell) flush();
  };
  const labelled = (label, depth) => {
    const before = buffer;
    for (const child of dom.children(label)) {
      if (dom.isElement(child)) {
        walk(child, depth + 1, false);
        buffer = before;
      }
    }
  };
  const svg = (node) => {
    if (!dom.visible(node) || !clickable(node)) return;
    flush();
    add(node, 'clickable', aria.name(node, null), { bare: true });
  };
  const frame = (node, tag) => {
    if (!dom.visible(node)) return;
    flush();
    entries.push({ k: 'f', i: elements.length, ...keys(node, tag), tag });
    elements.push(node);
  };
  const start = modal || document.body;
  if (start) {
    if (start === document.body && dom.editable(start)) {
      add(start, 'textbox', aria.name(start, 'textbox'), { bare: true, rich: true });
    } else walk(start, 0, false);
  }
  flush();
  const count = elements.length;
  return { elements, json: dom.stringify({ entries, full: count < limit }) };
}
