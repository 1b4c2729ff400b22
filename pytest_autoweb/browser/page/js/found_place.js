// Returns what each element is, and what it stands in: role, name, the kind and the text of the row or
// item around it, and which it is among those of its role there.
({ dom, aria, elements }) => {
  const LEVELS = 12;
  const WITHIN = 2000;
  const CHARS = 200;
  const KINDS = { tr: 'row', row: 'row', li: 'item', listitem: 'item', option: 'option',
    treeitem: 'item', article: 'article', dialog: 'dialog', dt: 'item', dd: 'item' };
  const kindOf = (element) => KINDS[aria.role(element) || dom.tag(element)]
    || KINDS[dom.tag(element)] || '';
  const text = (element) => dom.clean(aria.content(element, null)).slice(0, CHARS);
  const around = (element) => {
    let above = dom.parent(element);
    for (let level = 0; above && level < LEVELS; level += 1, above = dom.parent(above)) {
      if (kindOf(above)) return above;
    }
    return null;
  };
  const texts = (element) => {
    const cells = dom.children(element).filter((child) => dom.isElement(child)
      && dom.rendered(child)).slice(0, 20).map(text).filter(Boolean);
    return kindOf(element) === 'row' && cells.length ? cells.join(' | ').slice(0, CHARS)
      : text(element);
  };
  const what = (element) => aria.role(element) || dom.tag(element);
  return elements.slice(0, 1).map((element) => {
    const place = around(element);
    const own = what(element);
    const alike = place ? dom.query(place, '*').slice(0, WITHIN)
      .filter((other) => what(other) === own && dom.rendered(other)) : [];
    return {
      role: aria.role(element) || '',
      name: dom.clean(aria.name(element, aria.role(element))).slice(0, CHARS) || text(element),
      kind: place ? kindOf(place) : '',
      place: place ? texts(place) : '',
      nth: alike.indexOf(element) + 1,
      of: alike.length,
    };
  });
}
