// Computes role and accessible name; most names are exactly those that Playwright computes.
(dom) => {
  const INPUT = {
    button: 'button', submit: 'button', reset: 'button', image: 'button', file: 'button',
    checkbox: 'checkbox', radio: 'radio', range: 'slider', number: 'spinbutton',
    search: 'searchbox', hidden: null,
  };
  const PLAIN = { button: 'button', textarea: 'textbox', option: 'option', progress: 'progressbar',
    img: 'img', dialog: 'dialog', table: 'table', h1: 'heading', h2: 'heading', h3: 'heading',
    h4: 'heading', h5: 'heading', h6: 'heading' };
  const inputRole = (element) => {
    const type = (dom.attr(element, 'type') || 'text').toLowerCase();
    if (dom.has(element, 'list') && ['text', 'search', 'email', 'tel', 'url'].includes(type)) {
      return 'combobox';
    }
    return type in INPUT ? INPUT[type] : 'textbox';
  };
  const implicit = (element) => {
    const tag = dom.tag(element);
    if (tag === 'a' || tag === 'area') return dom.has(element, 'href') ? 'link' : null;
    if (tag === 'input') return inputRole(element);
    if (tag === 'select') {
      const many = dom.has(element, 'multiple') || Number(dom.attr(element, 'size')) > 1;
      return many ? 'listbox' : 'combobox';
    }
    return PLAIN[tag] || null;
  };
  const focusable = (element) => dom.has(element, 'tabindex')
    || dom.matches(element, 'a[href], button, input, select, textarea, summary');
  const role = (element) => {
    const given = (dom.attr(element, 'role') || '').trim().toLowerCase().split(/\s+/)[0];
    if (!given) return implicit(element);
    if (given === 'none' || given === 'presentation') {
      return focusable(element) ? implicit(element) : null;
    }
    return given;
  };

  const FROM_CONTENT = new Set(['button', 'link', 'tab', 'option', 'menuitem', 'menuitemcheckbox',
    'menuitemradio', 'checkbox', 'radio', 'switch', 'treeitem', 'heading', 'cell', 'gridcell',
    'columnheader', 'rowheader']);
  const pseudo = (element, which) => {
    const content = dom.style(element, which).content;
    const quoted = /^"((?:[^"\\]|\\.)*)"/.exec(content || '');
    return quoted ? quoted[1].replace(/\\(.)/g, '$1') : '';
  };
  const content = (element, skip, depth = 0) => {
    if (depth > 40) return '';
    let text = pseudo(element, '::before');
    for (const child of dom.children(element)) {
      if (child === skip) continue;
      if (dom.nodeType(child) === 3) text += dom.nodeValue(child);
      if (!dom.isElement(child) || !dom.rendered(child)) continue;
      if (dom.attr(child, 'aria-hidden') === 'true') continue;
      if (['script', 'style', 'noscript'].includes(dom.tag(child))) continue;
      const own = nested(child, skip, depth + 1);
      const inline = dom.style(child).display.startsWith('inline');
      text += inline && dom.tag(child) !== 'br' ? own : ` ${own} `;
    }
    return text + pseudo(element, '::after');
  };
  const nested = (child, skip, depth) => {
    const label = dom.attr(child, 'aria-label');
    if (label && label.trim()) return label;
    const tag = dom.tag(child);
    if (tag === 'img') return dom.attr(child, 'alt') || dom.attr(child, 'title') || '';
    if (tag === 'svg') return svgTitle(child);
    if (['input', 'textarea', 'select'].includes(tag)) {
      return dom.isSecret(child) || depth === 0 ? '' : fieldText(child, tag);
    }
    return content(child, skip, depth);
  };
  const fieldText = (field, tag) => {
    if (tag === 'select') return '';
    const kind = (dom.attr(field, 'type') || 'text').toLowerCase();
    return ['checkbox', 'radio', 'file'].includes(kind) ? '' : dom.value(field);
  };
  const svgTitle = (svg) => {
    const title = dom.query(svg, ':scope > title')[0];
    return title ? title.textContent : '';
  };
  const scope = (element) => element.getRootNode();
  const byIds = (element, attribute) => {
    const found = [];
    for (const id of (dom.attr(element, attribute) || '').split(/\s+/).filter(Boolean)) {
      const target = dom.query(scope(element), `#${CSS.escape(id)}`)[0];
      if (target) found.push(nested(target, null, 1));
    }
    return dom.clean(found.join(' '));
  };
  const labels = (element) => {
    const list = element.labels;
    return list && typeof list.length === 'number' ? Array.from(list) : [];
  };
  const labelText = (element) => dom.clean(
    labels(element).map((label) => content(label, element)).join(' '));
  const native = (element) => {
    const tag = dom.tag(element);
    const type = (dom.attr(element, 'type') || '').toLowerCase();
    if (tag === 'input' && ['button', 'submit', 'reset'].includes(type)) {
      const value = dom.value(element);
      return value || { submit: 'Submit', reset: 'Reset' }[type] || '';
    }
    if (['input', 'textarea', 'select', 'button', 'meter', 'progress'].includes(tag)) {
      const text = labelText(element);
      if (text) return text;
    }
    if (tag === 'input' && type === 'image') return dom.attr(element, 'alt') || 'Submit';
    if (tag === 'img' || tag === 'area') return dom.attr(element, 'alt') || '';
    if (tag === 'svg') return svgTitle(element);
    return '';
  };
  const name = (element, own) => {
    const steps = [
      () => byIds(element, 'aria-labelledby'),
      () => dom.attr(element, 'aria-label') || '',
      () => native(element),
      () => (FROM_CONTENT.has(own) ? content(element, null) : ''),
      () => dom.attr(element, 'title') || '',
      () => (['input', 'textarea'].includes(dom.tag(element))
        ? dom.attr(element, 'placeholder') || '' : ''),
    ];
    for (const step of steps) {
      const text = dom.clean(step());
      if (text) return text;
    }
    return '';
  };
  return { role, name, content, pseudo, labels, labelText, focusable, byIds };
}
