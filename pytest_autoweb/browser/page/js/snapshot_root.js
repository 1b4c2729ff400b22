// Returns what Playwright's snapshot shall begin at: the body, or of a page with long lists an
// element that stands for it. Of the rows of such lists, the snapshot then takes only the parts
// whose role and name it alone can tell; naming each row and cell would take most of its time.
({ dom }) => {
  const SMALL = 3000;
  const LONG = 150;
  const CHOSEN = new Set(['select', 'datalist', 'optgroup']);
  const PARTS = 'a[href], area, article, aside, button, caption, details, dialog, fieldset, figure, '
    + 'footer, form, h1, h2, h3, h4, h5, h6, header, iframe, img, input, main, menu, meter, nav, '
    + 'object, output, progress, search, section, select, summary, svg, table, textarea, th, '
    + '[aria-label], [aria-labelledby], [contenteditable], [onclick], [role], [tabindex], [title]';
  const { body } = document;
  const all = body && document.contentType === 'text/html' ? dom.query(body, '*') : [];
  if (all.length < SMALL) return body;
  const isLong = (element) => {
    const rows = element.children;
    if (!(rows.length > LONG) || CHOSEN.has(dom.tag(element)) || dom.shadow(element)) return false;
    const kind = dom.tag(rows[0]);
    return [1, 2, 3].every((part) => dom.tag(rows[Math.floor((part * rows.length) / 4)]) === kind);
  };
  const lists = all.filter(isLong);
  if (!lists.length) return body;
  // This world's own view of the page: scripts of the page do not see it. The snapshot is taken in
  // the same task, and then it is as before.
  for (const list of lists) Object.defineProperty(list, 'firstChild', { value: null, configurable: true });
  queueMicrotask(() => lists.forEach((list) => delete list.firstChild));
  const root = document.createElement('slot');
  const parts = [body, ...lists.flatMap((list) => dom.query(list, PARTS))];
  Object.defineProperty(root, 'assignedNodes', { value: () => parts });
  return root;
}
