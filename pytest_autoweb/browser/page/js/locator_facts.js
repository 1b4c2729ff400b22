// Returns what may tell an element apart from all others: role, name, label, test id, selectors.
({ dom, aria, elements }) => {
  const cssString = (text) => `"${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;
  const path = (element) => {
    const parts = [];
    let node = element;
    while (node && dom.isElement(node) && parts.length < 12) {
      const id = dom.attr(node, 'id');
      const root = node.getRootNode();
      if (id && !/\d{3,}|\s/.test(id) && dom.query(root, `#${CSS.escape(id)}`).length === 1) {
        parts.unshift(`#${CSS.escape(id)}`);
        break;
      }
      const tag = dom.tag(node);
      const above = dom.parentNode(node);
      const alike = above ? Array.from(dom.childNodes(above)).filter(
        (child) => dom.isElement(child) && dom.tag(child) === tag) : [node];
      parts.unshift(alike.length > 1 ? `${tag}:nth-of-type(${alike.indexOf(node) + 1})` : tag);
      node = above;
    }
    return parts.join(' > ');
  };
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
      css: [id ? `#${CSS.escape(id)}` : '', name ? `${tag}[name=${cssString(name)}]` : '', path(element)]
        .filter(Boolean),
    };
  });
}
