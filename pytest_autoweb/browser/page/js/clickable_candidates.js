// Returns all small clickable elements, with the facts that distinguish a pager's controls.
({ dom }) => {
  const LIMIT = 600;
  const PRESSED = 'a, button, input[type=button], input[type=submit], summary, [role=button], '
    + '[role=link], [onclick], [tabindex], li, span, i';
  const NATIVE = 'a[href], button, input, summary, [role=button], [role=link], [onclick], [tabindex]';
  const PAGER = '[class*=pagina], [class*=pager], [class*=page-nav], [class*=pagenav], [id*=pagina], '
    + '[id*=pager], [aria-label*=pagina i], [aria-label*=分页], [role=navigation][aria-label*=page i], '
    + '[class*=page_], [class*=_page], .pages, .page, #pages, #page';
  const OTHER = '[class*=carousel], [class*=slick], [class*=swiper], [class*=slider], [class*=calendar], '
    + '[class*=datepicker], [class*=wizard], [class*=stepper], [class*=lightbox], [class*=gallery], '
    + '[aria-roledescription=carousel], [class*=player]';
  const clip = (text) => dom.clean(text).slice(0, 60);
  const words = (element) => dom.attr(element, 'class') || '';
  const fullPath = (element) => {
    let path = '';
    let at = element;
    while (at && dom.nodeType(at) === 1) {
      const above = dom.parentNode(at);
      const alike = above ? Array.from(dom.childNodes(above)).filter(
        (node) => dom.isElement(node) && dom.tag(node) === dom.tag(at)) : [at];
      path = `/${dom.tag(at)}[${alike.indexOf(at) + 1}]${path}`;
      at = above;
    }
    return at && dom.nodeType(at) === 9 ? path : '';
  };
  const icon = (element) => {
    const inner = dom.query(element, 'svg, i, img, use, span')[0];
    return inner ? `${words(inner)} ${dom.attr(inner, 'alt') || ''}` : '';
  };
  const disabled = (element) => {
    const around = [element, dom.closest(element, 'li') || element];
    return around.some((one) => dom.has(one, 'disabled') || dom.attr(one, 'aria-disabled') === 'true'
      || /(^|[\s_-])(disabled?|inactive|is-disabled)($|[\s_-])/i.test(words(one)))
      || dom.style(element).pointerEvents === 'none';
  };
  const current = (element) => {
    const around = [element, dom.closest(element, 'li') || element];
    return around.some((one) => ['page', 'true'].includes(dom.attr(one, 'aria-current') || '')
      || /(^|[\s_-])(active|current|selected|cur|on|this)($|[\s_-])/i.test(words(one)));
  };
  const found = [];
  for (const element of dom.query(document, PRESSED)) {
    if (found.length >= LIMIT) break;
    const native = dom.matches(element, NATIVE);
    if (!native && dom.closest(element, 'a, button')) continue;
    const text = clip(dom.tag(element) === 'input' ? dom.value(element) : element.innerText || '');
    if (text.length > 24 || !dom.visible(element)) continue;
    // Of nested elements, the innermost one is clicked.
    if (!native && dom.query(element, NATIVE).length) continue;
    const pager = Boolean(dom.closest(element, PAGER));
    if (!native && !pager && dom.style(element).cursor !== 'pointer') continue;
    const box = dom.rect(element);
    found.push({
      text,
      label: clip(dom.attr(element, 'aria-label') || dom.attr(element, 'title') || ''),
      rel: dom.attr(element, 'rel') || '',
      classes: clip(`${words(element)} ${dom.attr(element, 'id') || ''}`),
      icon: clip(icon(element)),
      tag: dom.tag(element),
      href: dom.attr(element, 'href') || '',
      disabled: disabled(element),
      current: current(element),
      pager,
      other: Boolean(dom.closest(element, OTHER)),
      top: box.top + window.scrollY,
      path: fullPath(element),
    });
  }
  return { base: document.baseURI, height: document.documentElement.scrollHeight, controls: found };
}
