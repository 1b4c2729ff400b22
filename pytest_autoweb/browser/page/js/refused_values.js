// Returns the fields whose values the browser itself refuses, with what its bubble says of each.
// It refuses none without a form, in one with `novalidate`, or if all buttons have `formnovalidate`.
// If only some have, a form that was sent shows that this one was pressed: a watch notes it from the
// first look on.
({ dom, aria }) => {
  const WATCH = Symbol.for('autoweb sent forms'), MOST = 100_000;
  // A document that is written anew loses its listeners together with its root.
  const root = document.documentElement;
  if (!root[WATCH]) {
    const sent = new WeakSet();
    Object.defineProperty(root, WATCH, { value: sent });
    const first = (event) => event.composedPath()[0];
    window.addEventListener('submit', (event) => sent.add(first(event)), true);
    window.addEventListener('invalid', (event) => sent.delete(first(event).form), true);
  }
  const documents = [document];
  for (const one of documents) {
    const all = dom.query(one, '*');
    if (all.length < MOST) documents.push(...all.map(dom.shadow).filter(Boolean));
  }
  const all = (selector) => documents.flatMap((one) => dom.query(one, selector));
  const sends = all('button, input').filter(
    (button) => button.form && ['submit', 'image'].includes(button.type));
  const validates = (form) => {
    const own = sends.filter((button) => button.form === form);
    return !dom.has(form, 'novalidate') && !root[WATCH].has(form)
      && (!own.length || own.some((button) => !dom.has(button, 'formnovalidate')));
  };
  return all('input:user-invalid, select:user-invalid, textarea:user-invalid')
    .filter((field) => field.willValidate && field.form && validates(field.form))
    .slice(0, 10)
    .map((field) => ({
      name: (aria.name(field, aria.role(field)) || dom.attr(field, 'name') || dom.tag(field)).slice(0, 120),
      message: (field.validationMessage || '').slice(0, 300),
    }));
}
