// Writes selectors: texts in quotes, and an element's path from the nearest id that is no number.
(dom) => {
  const quoted = (text) => `"${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;
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
  return { quoted, path };
}
