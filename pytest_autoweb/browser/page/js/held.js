// Returns what a field holds, or null for what is no field, is gone, or holds a secret.
({ dom, elements }) => {
  const [own] = elements;
  // As for Playwright, a label stands for its field.
  const label = dom.matches(own, 'input, textarea, select') || own.isContentEditable
    ? null : dom.closest(own, 'label');
  const field = (label && label.control) || own;
  if (!field.isConnected || dom.isSecret(field)) return null;
  const tag = dom.tag(field);
  const told = (option) => [dom.clean(option.textContent || ''), option.value];
  const written = tag === 'input' || tag === 'textarea' || tag === 'select'
    ? dom.value(field) : (field.isContentEditable ? field.innerText : null);
  const ticked = dom.attr(field, 'aria-checked');
  return {
    value: written,
    kind: tag === 'input' ? field.type : tag,
    checked: tag === 'input' && /^(checkbox|radio)$/.test(field.type)
      ? dom.flag(field, 'checked') : ticked === null ? null : ticked === 'true',
    chosen: tag === 'select'
      ? dom.query(field, 'option').filter((option) => option.selected).map(told) : null,
  };
}
