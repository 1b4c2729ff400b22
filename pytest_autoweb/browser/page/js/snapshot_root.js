// Returns what Playwright's snapshot shall begin at: an element that stands for the body. Below it
// are only the parts whose role and name the snapshot alone can tell, and what a name may be made
// of; naming and measuring every element, as well as each row and cell, would take most of its time.
// Of rows that are not read, and of what is not shown, the snapshot takes nothing.
({ dom, longLists }, { rows, noted }) => {
  const PARTS = 'a[href], address, area, article, aside, button, caption, details, dfn, dialog, '
    + 'fieldset, figure, footer, form, h1, h2, h3, h4, h5, h6, header, hgroup, iframe, img, input, '
    + 'main, menu, meter, nav, object, output, progress, search, section, select, summary, svg, '
    + 'table, textarea, th, [aria-label], [aria-labelledby], [contenteditable], [onclick], [role], '
    + '[tabindex], [title]';
  // What is named by what it holds, or holds the name of another element.
  const NAMING_TAGS = 'a, button, caption, figcaption, label, legend, h1, h2, h3, h4, h5, h6, '
    + 'summary, td, th';
  const NAMING_ROLES = new Set(['button', 'cell', 'checkbox', 'columnheader', 'gridcell', 'heading',
    'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'option', 'radio', 'row', 'rowheader',
    'switch', 'tab', 'tooltip', 'treeitem']);
  const SMALL = 30;
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
  const left = new Set(Array.from(longLists.unread(rows).keys()).flatMap((row) => (
    [row, ...dom.query(row, '*')])));
  const parts = dom.query(body, '*').filter((one) => (
    !left.has(one) && (dom.shadow(one) || dom.matches(one, PARTS)) && dom.rendered(one)));
  // What only holds others is not entered, unless what names something is in it.
  const words = (element, name) => (dom.attr(element, name) || '').split(/\s+/);
  const labelling = new Set(dom.query(document, '[aria-labelledby]').flatMap((one) => (
    words(one, 'aria-labelledby'))));
  const names = (element) => {
    for (let at = element; at; at = dom.parent(at)) {
      if (labelling.has(dom.attr(at, 'id')) || dom.matches(at, NAMING_TAGS)) return true;
      if (words(at, 'role').some((role) => NAMING_ROLES.has(role.toLowerCase()))) return true;
    }
    return false;
  };
  const holders = parts.filter((one) => dom.query(one, '*').length > SMALL && !dom.shadow(one)
    && dom.style(one).display !== 'contents' && !names(one));
  pretend(holders, 'firstChild', null);
  const root = document.createElement('slot');
  Object.defineProperty(root, 'assignedNodes', { value: () => parts });
  return root;
}
