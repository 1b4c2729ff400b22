// Returns the texts of each element in order of precedence: painted text, label, placeholder, title,
// value. If arg is true, also returns those that are painted, a field's label among them, whether
// none of them is displayed, as for an icon, whether it has text that nobody sees, and the lines of
// its painted text if there are several, the options of a select box, and what it holds. If arg is "name", also
// returns the name.
({ dom, aria, visuals, elements }, facts) => {
  const LIMIT = 2000;
  const NODES = 2000;
  const LINES = 40;
  const OPTIONS = 500;
  const NO_VALUE = new Set(['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file']);
  const NO_TEXT = new Set(['canvas', 'video', 'audio', 'iframe', 'frame', 'script', 'style', 'noscript',
    'template', 'select', 'textarea', 'option']);
  const ranges = new Map();
  const rectsOf = (node) => {
    const owner = node.ownerDocument;
    if (!ranges.has(owner)) ranges.set(owner, Document.prototype.createRange.call(owner));
    const range = ranges.get(owner);
    range.selectNodeContents(node);
    return Array.from(range.getClientRects());
  };
  const numbers = (text) => (text.match(/-?[\d.]+(?:%|px)?/g) || []);
  const size = (text, whole) => (text.endsWith('%') ? parseFloat(text) / 100 * whole
    : parseFloat(text));
  // Returns whether the clip of a style leaves nothing of a box of this size.
  const cutAway = (css, box) => {
    const clip = /^rect\((.*)\)$/.exec(css.clip || '');
    if (clip && ['absolute', 'fixed'].includes(css.position)) {
      const [top, right, bottom, left] = clip[1].split(/[,\s]+/)
        .map((edge, i) => (edge === 'auto' ? [0, box.width, box.height, 0][i] : parseFloat(edge)));
      if (right - left <= 1 || bottom - top <= 1) return true;
    }
    const [, shape, inner] = /^(inset|circle)\((.*)\)$/.exec(css.clipPath || '') || [];
    const [a, b = a, c = a, d = b] = numbers((inner || '').split(' round ')[0]);
    if (shape === 'inset' && a) {
      return size(a, box.height) + size(c, box.height) >= box.height
        || size(b, box.width) + size(d, box.width) >= box.width;
    }
    return shape === 'circle' && a !== undefined && parseFloat(a) === 0;
  };
  const CLIPS = new Set(['hidden', 'clip']);
  const clips = (css) => css.display !== 'inline' && css.display !== 'contents'
    && (CLIPS.has(css.overflowX) || CLIPS.has(css.overflowY));
  const clear = (color) => /^rgba\(.*,\s*0\)$|^transparent$/.test(color);
  const unread = (css, box) => Number(css.opacity) < 0.1 || cutAway(css, box)
    || (clips(css) && (box.width <= 1 || box.height <= 1));
  const drawn = (node, at) => rectsOf(node).some((r) => {
    const width = Math.min(r.right, at.right) - Math.max(r.left, at.left);
    const height = Math.min(r.bottom, at.bottom) - Math.max(r.top, at.top);
    return width > 1 && height > 1;
  });
  // Returns the text that is painted within an element, and whether there is other text. Where all
  // of it is painted, the browser's own text is used, which knows best where lines and spaces are.
  const painted = (root) => {
    const parts = [];
    let hidden = false;
    let left = NODES;
    const walk = (element, at) => {
      const css = dom.style(element);
      left -= 1;
      if (!css || left < 0 || css.display === 'none') return;
      const box = dom.rect(element);
      const within = { ...at, filled: at.filled || css.backgroundClip === 'text' };
      if (element !== root && css.position === 'fixed') Object.assign(within, everywhere(element));
      if (clips(css)) {
        Object.assign(within, { left: Math.max(at.left, box.left), top: Math.max(at.top, box.top),
          right: Math.min(at.right, box.right), bottom: Math.min(at.bottom, box.bottom) });
      }
      // The element as a whole may still be fading in.
      within.unread = at.unread
        || (element !== root && css.display !== 'contents' && unread(css, box));
      const seen = css.visibility === 'visible' && (!clear(css.color) || within.filled);
      const edge = css.display.startsWith('inline') || css.display === 'contents' ? '' : '\n';
      parts.push(edge);
      for (const child of dom.children(element)) {
        if (dom.nodeType(child) === 3) {
          if (!dom.nodeValue(child).trim()) parts.push(' ');
          else if (seen && !within.unread && drawn(child, within)) {
            parts.push(dom.nodeValue(child));
          } else hidden = true;
        } else if (dom.isElement(child) && dom.tag(child) === 'br') parts.push('\n');
        else if (dom.isElement(child) && !NO_TEXT.has(dom.tag(child))) walk(child, within);
      }
      parts.push(edge);
    };
    // What lies left of or above the document's start cannot be scrolled to.
    const everywhere = (element) => {
      const view = element.ownerDocument.defaultView || window;
      return { left: -view.scrollX, top: -view.scrollY, right: Infinity, bottom: Infinity };
    };
    walk(root, { ...everywhere(root), unread: false, filled: false });
    const text = hidden && left >= 0 ? parts.join('') : root.innerText ?? root.textContent ?? '';
    return { text, hidden };
  };

  const cut = (text) => dom.clean(text).slice(0, LIMIT);
  const optionsOf = (select) => dom.query(select, 'option').slice(0, OPTIONS).map((option) => {
    const group = dom.closest(option, 'optgroup');
    const off = (one) => Boolean(one) && dom.has(one, 'disabled');
    return { text: cut(dom.attr(option, 'label') || option.textContent || '').slice(0, 200),
      group: group ? cut(dom.attr(group, 'label') || '').slice(0, 200) : '',
      chosen: dom.flag(option, 'selected'), disabled: off(option) || off(group) };
  });
  // What a field or an editor holds, with its line breaks.
  const linesOf = (element, tag) => {
    if (dom.isSecret(element)) return '';
    const type = (dom.attr(element, 'type') || '').toLowerCase();
    if (tag === 'input' && type === 'file') {
      return Array.from(element.files || []).map((file) => file.name).join(', ').slice(0, LIMIT);
    }
    const held = visuals.isEditor(element) ? visuals.editorText(element)
      : dom.editable(element) ? visuals.richText(element)
        : ['input', 'textarea'].includes(tag) && !NO_VALUE.has(type) ? dom.value(element) : '';
    return held.trim().slice(0, LIMIT);
  };
  const editorTexts = (element) => {
    const name = dom.clean(aria.name(visuals.editorField(element), 'textbox'));
    const held = linesOf(element, '');
    return { texts: [name, cut(held)].filter(Boolean), unseen: !held, hidden: false,
      painted: [cut(held)].filter(Boolean), lines: [], options: [], held, name };
  };
  const textsOf = (element) => {
    if (visuals.isEditor(element)) {
      const told = editorTexts(element);
      return facts ? told : told.texts;
    }
    const tag = dom.tag(element);
    const type = (dom.attr(element, 'type') || '').toLowerCase();
    const value = dom.isSecret(element) ? '' : dom.value(element);
    let hidden = false;
    let lines = [];
    const shown = () => {
      if (tag === 'select') {
        return dom.query(element, 'option').filter((option) => dom.flag(option, 'selected'))
          .map((option) => dom.attr(option, 'label') || option.textContent || '').join(', ');
      }
      if (tag === 'input') return ['button', 'submit', 'reset'].includes(type) ? value : '';
      if (NO_TEXT.has(tag)) return '';
      const found = painted(element);
      hidden = found.hidden;
      lines = found.text.split(/[\n\t]+/, LINES).map(cut).filter(Boolean);
      return found.text;
    };
    const attributes = ['aria-label', 'placeholder', 'title'].map((n) => dom.attr(element, n) || '');
    const last = tag === 'select' || ['checkbox', 'radio'].includes(type) ? '' : value;
    const own = shown();
    const all = [own, ...attributes, last].map(cut);
    const known = Array.from(new Set(all.filter(Boolean)));
    const field = ['input', 'textarea', 'select'].includes(tag);
    const labels = field ? aria.labels(element).map((label) => cut(painted(label).text)) : [];
    const unseen = !dom.clean(own) && !(field && (all[2] || all[4] || labels.some(Boolean)));
    if (!known.length) known.push(dom.clean(aria.name(element, aria.role(element))).slice(0, LIMIT));
    const texts = known.filter(Boolean);
    if (!facts) return texts;
    // A placeholder gives way to what is typed; pictures cover that of a secret field.
    const placeholder = field && !all[4] && !dom.isSecret(element) ? all[2] : '';
    const visible = [all[0], ...labels, placeholder, field ? all[4] : ''];
    const name = facts === 'name' ? { name: cut(aria.name(element, aria.role(element))) } : {};
    const seen = Array.from(new Set(visible.filter(Boolean)));
    return { texts, unseen, hidden, painted: seen, lines: lines.length > 1 ? lines : [],
      options: tag === 'select' ? optionsOf(element) : [], held: linesOf(element, tag), ...name };
  };
  return (Array.isArray(elements) ? elements : elements.elements).map(textsOf);
}
