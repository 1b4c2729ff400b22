// Returns the page's messages to its user: open dialogs, alerts, and fields with invalid values.
({ dom, aria }) => {
  const shown = (selector) => dom.query(document, selector).filter(dom.visible).slice(0, 10);
  const words = (element) => dom.clean(element.innerText || element.textContent || '').slice(0, 300);
  const name = (element) => aria.name(element, aria.role(element)) || dom.attr(element, 'name') || '';
  const touched = (field) => {
    try {
      return dom.matches(field, ':user-invalid');
    } catch {
      return dom.matches(field, ':invalid');
    }
  };
  const described = (field) => aria.byIds(field, 'aria-errormessage')
    || aria.byIds(field, 'aria-describedby');
  const invalid = dom.query(document, 'input, select, textarea, [aria-invalid]')
    .filter((field) => (touched(field) || dom.attr(field, 'aria-invalid') === 'true'))
    .slice(0, 10)
    .map((field) => ({
      name: name(field).slice(0, 120),
      message: (described(field) || field.validationMessage || '').slice(0, 300),
    }));
  return {
    dialogs: shown('dialog[open], [role="dialog"], [role="alertdialog"], [aria-modal="true"]')
      .map((box) => ({ name: name(box).slice(0, 120), text: words(box) })),
    alerts: shown('[role="alert"], [role="status"], [aria-live="assertive"], .error, .alert, '
      + '.errorlist, .invalid-feedback, .message-error').map(words).filter(Boolean),
    invalid,
  };
}
