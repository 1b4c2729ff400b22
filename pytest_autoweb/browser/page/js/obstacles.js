// Returns, for each element, a description and what may prevent a person from acting on it.
({ dom, aria, elements }) => {
  const named = (element) => {
    const role = aria.role(element);
    return { tag: dom.tag(element), role: role || '', name: aria.name(element, role).slice(0, 120) };
  };
  const above = (element) => {
    const box = dom.rect(element);
    const view = element.ownerDocument.defaultView;
    const x = box.left + box.width / 2, y = box.top + box.height / 2;
    if (x < 0 || y < 0 || x >= view.innerWidth || y >= view.innerHeight) return 'outside';
    const top = element.getRootNode().elementFromPoint(x, y);
    const inside = !top || top === element || element.contains(top) || top.contains(element)
      || aria.labels(element).some((label) => label.contains(top));
    return inside ? null : named(top);
  };
  return elements.slice(0, 20).map((element) => {
    const visible = dom.visible(element);
    const cover = visible ? above(element) : null;
    return {
      ...named(element),
      visible,
      disabled: dom.matches(element, ':disabled')
        || Boolean(dom.closest(element, '[aria-disabled="true"], [inert]')),
      readonly: dom.has(element, 'readonly') || dom.attr(element, 'aria-readonly') === 'true',
      editable: dom.matches(element, 'input, textarea, select') || element.isContentEditable,
      outside: cover === 'outside',
      cover: cover === 'outside' ? null : cover,
      value: dom.isSecret(element) ? null : dom.value(element),
      checked: dom.flag(element, 'checked') || dom.attr(element, 'aria-checked') === 'true',
      options: dom.tag(element) === 'select'
        ? dom.query(element, 'option').slice(0, 200).map((o) => dom.clean(o.textContent || '')) : [],
      chosen: dom.tag(element) === 'select'
        ? dom.query(element, 'option').filter((o) => o.selected)
          .map((o) => dom.clean(o.textContent || '')) : [],
    };
  });
}
