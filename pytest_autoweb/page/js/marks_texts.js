// Returns the texts of each element in order of precedence: inner text, label, placeholder, title,
// value. If arg is true, also tells whether none of them is displayed, as for an icon.
({ dom, aria, elements }, facts) => (Array.isArray(elements) ? elements : elements.elements).map((element) => {
  const LIMIT = 2000;
  const tag = dom.tag(element);
  const type = (dom.attr(element, 'type') || '').toLowerCase();
  const value = dom.isSecret(element) ? '' : dom.value(element);
  const shown = () => {
    if (tag === 'select') {
      return dom.query(element, 'option').filter((option) => dom.flag(option, 'selected'))
        .map((option) => dom.attr(option, 'label') || option.textContent || '').join(', ');
    }
    if (tag === 'input') return ['button', 'submit', 'reset'].includes(type) ? value : '';
    return tag === 'textarea' ? '' : element.innerText ?? element.textContent ?? '';
  };
  const attributes = ['aria-label', 'placeholder', 'title'].map((n) => dom.attr(element, n) || '');
  const last = tag === 'select' || ['checkbox', 'radio'].includes(type) ? '' : value;
  const own = shown();
  const all = [own, ...attributes, last].map((text) => dom.clean(text).slice(0, LIMIT));
  const known = Array.from(new Set(all.filter(Boolean)));
  const field = ['input', 'textarea', 'select'].includes(tag);
  const labelled = () => aria.labels(element).some((label) => dom.clean(label.innerText || ''));
  const unseen = !dom.clean(own) && !(field && (all[2] || all[4] || labelled()));
  if (!known.length) known.push(dom.clean(aria.name(element, aria.role(element))).slice(0, LIMIT));
  const texts = known.filter(Boolean);
  return facts ? { texts, unseen } : texts;
})
