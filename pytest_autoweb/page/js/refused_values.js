// Returns the fields whose values the browser itself refuses, with what its bubble says of each.
// A form with `novalidate` is sent whatever its fields hold.
({ dom, aria }) => dom.query(document, 'input:user-invalid, select:user-invalid, textarea:user-invalid')
  .filter((field) => field.willValidate && !(field.form && field.form.noValidate))
  .slice(0, 10)
  .map((field) => ({
    name: (aria.name(field, aria.role(field)) || dom.attr(field, 'name') || dom.tag(field)).slice(0, 120),
    message: (field.validationMessage || '').slice(0, 300),
  }))
