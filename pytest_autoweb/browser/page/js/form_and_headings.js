// Returns the page's headings, and the state of its fields by role and name, for proposals of checks.
({ dom, aria }) => {
  const NAMED = ['checkbox', 'radio', 'switch', 'textbox', 'searchbox', 'spinbutton', 'combobox'];
  const shown = (selector) => dom.query(document, selector).filter(dom.visible).slice(0, 200);
  const headings = shown('h1, h2, h3, h4, h5, h6, [role="heading"]')
    .map((element) => aria.name(element, 'heading')).filter(Boolean);
  const fields = [];
  for (const element of shown('input, select, textarea, [role="switch"], [role="checkbox"]')) {
    const role = aria.role(element);
    const name = aria.name(element, role);
    if (!name || !NAMED.includes(role) || element.type === 'password') continue;
    if (['checkbox', 'radio', 'switch'].includes(role)) {
      const said = dom.attr(element, 'aria-checked');
      fields.push({ role, name, checked: said ? said === 'true' : Boolean(element.checked) });
    } else fields.push({ role, name, value: String(element.value || '').slice(0, 200) });
  }
  return { headings, fields };
}
