// Restores state of the page that tags cannot express in an opened copy, such as form values.
({ dom }) => {
  // Copies of earlier versions were parsed, and hold what a parser would move in templates.
  const graft = (root) => {
    for (;;) {
      const found = dom.query(root, 'template[data-autoweb-graft]');
      if (!found.length) break;
      for (const template of found) template.replaceWith(...Array.from(template.content.childNodes));
    }
    for (const template of dom.query(root, 'template[shadowrootmode]')) {
      const host = template.parentElement;
      if (!host || host.shadowRoot) continue;
      host.attachShadow({ mode: 'open' }).append(template.content);
      template.remove();
    }
  };
  const restore = (element) => {
    const tag = dom.tag(element);
    const value = dom.attr(element, 'data-autoweb-value');
    const checked = dom.attr(element, 'data-autoweb-checked');
    const selected = dom.attr(element, 'data-autoweb-selected');
    if (value !== null && (tag === 'input' || tag === 'textarea')) element.value = value;
    if (checked !== null) element.checked = checked === '1';
    if (dom.has(element, 'data-autoweb-indeterminate')) element.indeterminate = true;
    if (selected !== null && tag === 'select') {
      const wanted = new Set(selected.split(' ').filter(Boolean).map(Number));
      dom.query(element, 'option').forEach((option, index) => {
        option.selected = wanted.has(index);
      });
      if (!wanted.size) element.selectedIndex = -1;
    }
  };
  const walk = (root) => {
    graft(root);
    for (const element of dom.query(root, '*')) {
      restore(element);
      const inner = dom.shadow(element);
      if (inner) walk(inner);
    }
  };
  walk(document);
  return dom.has(document.documentElement, 'data-autoweb-cut');
}
