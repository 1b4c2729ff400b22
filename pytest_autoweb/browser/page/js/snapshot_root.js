// Returns what Playwright's snapshot shall begin at: the body, or of a page with long lists an
// element that stands for it. Of the rows of such lists, the snapshot then takes only the parts
// whose role and name it alone can tell, and of rows that are not read nothing; naming each row and
// cell would take most of its time.
({ dom, longLists }, { rows, noted }) => {
  const PARTS = 'a[href], area, article, aside, button, caption, details, dialog, fieldset, figure, '
    + 'footer, form, h1, h2, h3, h4, h5, h6, header, iframe, img, input, main, menu, meter, nav, '
    + 'object, output, progress, search, section, select, summary, svg, table, textarea, th, '
    + '[aria-label], [aria-labelledby], [contenteditable], [onclick], [role], [tabindex], [title]';
  const { body } = document;
  // This world's own view of the page: scripts of the page do not see it. The snapshot is taken in
  // the same task, and then all is as before.
  const pretend = (elements, name, value) => {
    for (const one of elements) Object.defineProperty(one, name, { value, configurable: true });
    queueMicrotask(() => elements.forEach((one) => delete one[name]));
  };
  // The documents of frames have snapshots of their own, so none is to be entered from here.
  const frames = dom.query(document, 'iframe, frame');
  pretend(frames, 'nodeName', '');
  queueMicrotask(() => frames.forEach((one) => {
    if (one[noted]) Object.assign(one[noted], { role: 'iframe', name: '' });
  }));
  const long = longLists.found();
  if (!long.length) return body;
  pretend(long, 'firstChild', null);
  const unread = longLists.unread(rows, long);
  const partsOf = (row) => [...(dom.matches(row, PARTS) ? [row] : []), ...dom.query(row, PARTS)];
  const read = (list) => Array.from(list.children).filter((row) => !unread.has(row));
  const parts = [body, ...long.flatMap(read).flatMap(partsOf)];
  const root = document.createElement('slot');
  Object.defineProperty(root, 'assignedNodes', { value: () => parts });
  return root;
}
