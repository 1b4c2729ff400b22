// Returns the states for which an `element` check may ask.
({ dom, elements }) => elements.map((element) => ({
  visible: dom.visible(element),
  value: ['input', 'textarea', 'select'].includes(dom.tag(element))
    ? dom.value(element) : dom.attr(element, 'aria-valuenow') || '',
  secret: dom.isSecret(element),
  checked: dom.flag(element, 'checked') || dom.attr(element, 'aria-checked') === 'true'
    || dom.attr(element, 'aria-pressed') === 'true',
  enabled: !dom.matches(element, ':disabled') && !dom.closest(element, '[aria-disabled="true"]'),
}))
