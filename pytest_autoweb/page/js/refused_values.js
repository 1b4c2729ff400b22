// Returns the fields whose values the browser itself refuses, with what its bubble says of each.
// It refuses none without a form, in one with `novalidate`, or if all buttons have `formnovalidate`.
// If only some have, a form that was sent shows that this one was pressed: a watch notes it from the
// first look on.
({ dom, aria }) => {
  const WATCH = Symbol.for('autoweb sent forms');
  if (!document[WATCH]) {
    const sent = new WeakSet();
    Object.defineProperty(document, WATCH, { value: sent });
    window.addEventListener('submit', (event) => sent.add(event.target), true);
    window.addEventListener('invalid', (event) => sent.delete(event.target.form), true);
  }
  const sends = dom.query(document, 'button, input').filter(
    (button) => button.form && ['submit', 'image'].includes(button.type));
  const validates = (form) => {
    const own = sends.filter((button) => button.form === form);
    return !dom.has(form, 'novalidate') && !document[WATCH].has(form)
      && (!own.length || own.some((button) => !dom.has(button, 'formnovalidate')));
  };
  return dom.query(document, 'input:user-invalid, select:user-invalid, textarea:user-invalid')
    .filter((field) => field.willValidate && field.form && validates(field.form))
    .slice(0, 10)
    .map((field) => ({
      name: (aria.name(field, aria.role(field)) || dom.attr(field, 'name') || dom.tag(field)).slice(0, 120),
      message: (field.validationMessage || '').slice(0, 300),
    }));
}
