// Returns what may tell an element apart from all others: role, name, label, test id, selectors.
({ dom, aria, selectors, elements }) => {
  return elements.slice(0, 1).map((element) => {
    const tag = dom.tag(element);
    const role = aria.role(element);
    const id = dom.attr(element, 'id');
    const name = dom.attr(element, 'name');
    return {
      tag,
      role: role || '',
      name: role ? aria.name(element, role) : dom.clean(aria.content(element, null)),
      bare: !role,
      content: dom.clean(aria.content(element, null)),
      title: dom.attr(element, 'title') || '',
      label: aria.labelText(element),
      testid: dom.attr(element, 'data-testid') || '',
      placeholder: dom.clean(dom.attr(element, 'placeholder') || ''),
      css: [id ? `#${CSS.escape(id)}` : '', name ? `${tag}[name=${selectors.quoted(name)}]` : '', selectors.path(element)]
        .filter(Boolean),
    };
  });
}
