// Finds the elements in the viewport that can be acted on, including open shadow roots and frames
// of the same origin.
({ dom, aria }, { limit, texts }) => {
  const ROLES = new Set(['button', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'tab',
    'checkbox', 'radio', 'switch', 'option', 'combobox', 'listbox', 'slider', 'spinbutton',
    'searchbox', 'textbox', 'treeitem']);
  const SCORE = { native: 1, event: 0.95, aria: 0.9, tabindex: 0.85, delegated: 0.85, cursor: 0.7,
    text: 0.5 };
  const SURE = new Set(['native', 'event', 'aria']);
  // Other roles act as one element, so uncertain elements within them are parts of them. These three
  // contain separate elements.
  const PARTS = new Set(['combobox', 'listbox', 'treeitem']);
  const whole = (item) => item.kind === 'native' || (item.kind === 'aria'
    && !PARTS.has((dom.attr(item.element, 'role') || '').trim().toLowerCase()));
  const swallows = (item, kind) => !SURE.has(kind)
    && (kind === 'text' ? SURE.has(item.kind) : whole(item));
  const DATA = ['val', 'id', 'index', 'key', 'type', 'value', 'item', 'tab', 'action', 'target',
    'code', 'name'].map((name) => `data-${name}`);
  const EVENTS = ['onclick', 'ng-click', 'v-on:click', '@click', 'v-on'];
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'title', 'meta']);
  const TEXT_LIMIT = 2000;
  const vv = window.visualViewport;
  const port = vv
    ? { x: vv.offsetLeft, y: vv.offsetTop, width: vv.width, height: vv.height }
    : { x: 0, y: 0, width: window.innerWidth, height: window.innerHeight };

  // Rectangles are [left, top, right, bottom] in CSS pixels of the main document.
  const meet = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]),
    Math.min(a[3], b[3])];
  const area = (r) => Math.max(0, r[2] - r[0]) * Math.max(0, r[3] - r[1]);
  const union = (rects) => rects.reduce((a, b) => [Math.min(a[0], b[0]), Math.min(a[1], b[1]),
    Math.max(a[2], b[2]), Math.max(a[3], b[3])]);
  const shift = (view, r) => [view.x + r.left * view.scale, view.y + r.top * view.scale,
    view.x + r.right * view.scale, view.y + r.bottom * view.scale];
  const clientRects = (node) => Array.from(Element.prototype.getClientRects.call(node));
  // Only one range per document, because every live range slows down later changes of the page.
  const ranges = new Map();
  const rangeRects = (node) => {
    const owner = node.ownerDocument;
    if (!ranges.has(owner)) ranges.set(owner, Document.prototype.createRange.call(owner));
    const range = ranges.get(owner);
    range.selectNodeContents(node);
    return Array.from(range.getClientRects());
  };
  const solid = (r) => r.width > 0.5 && r.height > 0.5;
  const boxes = (view, element) => {
    const own = clientRects(element).filter(solid);
    const rects = own.length ? own : rangeRects(element).filter(solid);
    return rects.map((r) => shift(view, r));
  };

  const NATIVE = 'a[href], button, input:not([type=hidden]), textarea, select, summary';
  const listens = (element) => {
    try {
      if (EVENTS.some((name) => dom.has(element, name)) || element.onclick) return true;
    } catch {
      return false;
    }
    return dom.listens(element);
  };
  const delegated = (element, tag) => ['li', 'div', 'span'].includes(tag)
    && DATA.some((name) => dom.has(element, name))
    && dom.clean(element.textContent || '').length > 0
    && (element.textContent || '').length < 200;
  const hiddenControl = (label) => {
    const control = label.control;
    if (!control || !dom.isElement(control)) return null;
    const role = aria.role(control);
    if (role !== 'checkbox' && role !== 'radio') return null;
    return !dom.visible(control) || Number(dom.style(control).opacity) < 0.1 ? control : null;
  };
  const PICTURES = new Set(['img', 'svg', 'canvas', 'video', 'picture']);
  const shows = (element, tag) => PICTURES.has(tag) || Array.from(dom.childNodes(element)).some(
    (node) => dom.nodeType(node) === 3 && dom.nodeValue(node).trim());
  const kindOf = (element, tag, css, above) => {
    if (dom.matches(element, NATIVE) || dom.editable(element)) return 'native';
    if (tag === 'label' && hiddenControl(element)) return 'native';
    if (tag === 'html' || tag === 'body' || tag === 'label' || tag === 'option') return '';
    if (listens(element)) return 'event';
    const role = (dom.attr(element, 'role') || '').trim().toLowerCase().split(/\s+/)[0];
    if (ROLES.has(role)) return 'aria';
    const tabindex = dom.attr(element, 'tabindex');
    if (tabindex !== null && Number(tabindex) >= 0) return 'tabindex';
    if (delegated(element, tag)) return 'delegated';
    if (css.cursor === 'pointer' && above !== 'pointer') return 'cursor';
    return texts && shows(element, tag) ? 'text' : '';
  };

  const found = [];
  const page = [];
  const keepText = (node, at) => {
    if (!dom.nodeValue(node).trim() || page.length > 3000) return;
    for (const r of rangeRects(node)) {
      const seen = meet(shift(at.view, r), at.clip);
      if (area(seen) > 0) page.push(seen);
    }
  };
  // `at` holds the document's view, the clipping rectangles, the opacity and the closest marked
  // ancestor.
  const walk = (element, at) => {
    if (!dom.isElement(element) || at.depth > 300) return;
    const tag = dom.tag(element);
    if (SKIPPED.has(tag)) return;
    const css = dom.style(element);
    if (!css || css.display === 'none' || dom.has(element, 'inert')) return;
    const opacity = at.opacity * Number(css.opacity);
    if (opacity < 0.1) return;
    const fixed = css.position === 'fixed';
    const base = fixed ? at.frameClip : css.position === 'absolute' ? at.anchorClip : at.clip;
    let owner = at.owner;
    if (css.visibility === 'visible' && css.pointerEvents !== 'none') {
      const kind = kindOf(element, tag, css, at.cursor);
      const part = kind && owner && swallows(owner, kind);
      if (kind && !part) {
        const made = candidate(element, tag, kind, base, at);
        if (made) owner = made;
      }
    }
    if (tag === 'iframe' || tag === 'frame') {
      frame(element, at, base, opacity);
      return;
    }
    if (tag === 'select' || tag === 'textarea') return;
    let clip = base;
    if (css.overflowX !== 'visible' || css.overflowY !== 'visible') {
      if (tag !== 'html' && tag !== 'body' && !css.display.startsWith('inline ')) {
        const r = shift(at.view, dom.rect(element));
        if (css.display !== 'contents' && css.display !== 'inline') clip = meet(clip, r);
      }
    }
    const anchor = css.position !== 'static' || css.transform !== 'none';
    const below = { ...at, clip, opacity, owner, cursor: css.cursor, depth: at.depth + 1,
      anchorClip: anchor ? clip : at.anchorClip,
      frameClip: css.transform !== 'none' ? clip : at.frameClip };
    for (const child of dom.children(element)) {
      if (dom.nodeType(child) === 3) {
        if (css.visibility === 'visible') keepText(child, below);
      } else walk(child, below);
    }
  };
  const candidate = (element, tag, kind, clip, at) => {
    const rects = boxes(at.view, element);
    if (!rects.length) return null;
    const full = union(rects);
    const width = full[2] - full[0];
    const height = full[3] - full[1];
    const least = kind === 'delegated' ? [20, 16] : [5, 5];
    if (width < least[0] || height < least[1]) return null;
    // An element as large as the viewport is usually a container that listens for its children.
    const most = 0.95 * Math.max(port.width, 1200) * Math.max(port.height, 800);
    if (width * height > most && kind !== 'native') return null;
    const seen = rects.map((r) => meet(r, clip)).filter((r) => area(r) > 0);
    const all = rects.reduce((sum, r) => sum + area(r), 0);
    if (!seen.length || seen.reduce((sum, r) => sum + area(r), 0) < 0.3 * all) return null;
    if (!onTop(element, seen, at.view)) return null;
    const made = { element, tag, kind, rects: seen, box: union(seen), clip, view: at.view,
      owner: at.owner, inner: 0 };
    for (let up = at.owner; up && kind !== 'text'; up = up.owner) up.inner += 1;
    found.push(made);
    return made;
  };
  const frame = (element, at, clip, opacity) => {
    let inner = null;
    try {
      inner = element.contentDocument;
    } catch {
      return;
    }
    if (!inner || !inner.documentElement || at.view.frames.length >= 8) return;
    const r = dom.rect(element);
    const wide = element.offsetWidth || 1;
    const css = dom.style(element);
    const scale = (r.width / wide) * at.view.scale;
    const outer = shift(at.view, r);
    const view = {
      document: inner,
      x: outer[0] + (element.clientLeft + parseFloat(css.paddingLeft)) * scale,
      y: outer[1] + (element.clientTop + parseFloat(css.paddingTop)) * scale,
      scale,
      frames: [...at.view.frames, element],
      parent: at.view,
    };
    views.set(element, view);
    const visible = meet(clip, outer);
    if (area(visible) > 0) start(view, visible, opacity);
  };
  const views = new Map();
  const start = (view, clip, opacity) => {
    const root = view.document.documentElement;
    if (root) {
      walk(root, { view, clip, frameClip: clip, anchorClip: clip, opacity, owner: null,
        cursor: 'auto', depth: 0 });
    }
  };

  // Returns the element that a click at this point would hit, through frames and shadow roots.
  const reached = (x, y) => {
    let view = main;
    for (let depth = 0; depth < 10; depth += 1) {
      const px = (x - view.x) / view.scale;
      const py = (y - view.y) / view.scale;
      let hit = Document.prototype.elementFromPoint.call(view.document, px, py);
      for (let deep = 0; hit && dom.shadow(hit) && deep < 30; deep += 1) {
        const inner = dom.shadow(hit).elementFromPoint(px, py);
        if (!inner || inner === hit) break;
        hit = inner;
      }
      if (!hit || !views.has(hit)) return hit;
      view = views.get(hit);
    }
    return null;
  };
  const leadsTo = (hit, element) => {
    for (let node = hit, depth = 0; node && depth < 300; node = dom.parent(node), depth += 1) {
      if (node === element) return true;
      if (dom.tag(node) === 'label' && node.control === element) return true;
    }
    return false;
  };
  const points = (rects) => {
    if (rects.length > 1) {
      const large = rects.slice().sort((a, b) => area(b) - area(a)).slice(0, 5);
      return large.map((r, i) => [(r[0] + r[2]) / 2, (r[1] + r[3]) / 2, [3, 2, 2, 1, 1][i]]);
    }
    const [left, top, right, bottom] = rects[0];
    const at = (fx, fy, weight) => [left + (right - left) * fx, top + (bottom - top) * fy, weight];
    return [at(0.5, 0.5, 3), at(0.2, 0.5, 2), at(0.8, 0.5, 2), at(0.5, 0.2, 1), at(0.5, 0.8, 1)];
  };
  // Most of the element may be covered, e.g. by a sticky header, as long as part of it can be hit.
  const onTop = (element, rects) => {
    let free = 0;
    let all = 0;
    for (const [x, y, weight] of points(rects)) {
      all += weight;
      if (leadsTo(reached(x, y), element)) free += weight;
    }
    return free >= 0.3 * all;
  };

  const inside = (item, outer) => {
    for (let up = item.owner; up; up = up.owner) if (up === outer) return true;
    return false;
  };
  const container = (item) => item.kind !== 'native'
    && (item.inner >= 3 || (item.kind !== 'event' && item.element.children.length > 15));
  // Of two elements at the same place, the more certain one is kept; an uncertain one within a
  // certain one is dropped.
  const apart = (items) => {
    const kept = [];
    const better = items.slice().sort((a, b) => SCORE[b.kind] - SCORE[a.kind]
      || area(b.box) - area(a.box));
    for (const item of better) {
      const clash = kept.some((other) => {
        const small = Math.min(area(item.box), area(other.box));
        if (area(meet(item.box, other.box)) <= 0.7 * small) return false;
        const large = Math.max(area(item.box), area(other.box));
        if (large <= 1.1 * small) return inside(item, other) || inside(other, item);
        return area(other.box) === large && swallows(other, item.kind);
      });
      if (!clash) kept.push(item);
    }
    return kept;
  };
  const inOrder = (items) => {
    const left = items.slice().sort((a, b) => a.box[1] - b.box[1] || a.box[0] - b.box[0]);
    const rows = [];
    for (const item of left) {
      const row = rows[rows.length - 1];
      if (row && item.box[1] - row[0].box[1] <= 10) row.push(item);
      else rows.push([item]);
    }
    return rows.flatMap((row) => row.sort((a, b) => a.box[0] - b.box[0] || a.box[1] - b.box[1]));
  };

  const main = { document, x: 0, y: 0, scale: 1, frames: [], parent: null };
  start(main, [port.x, port.y, port.x + port.width, port.y + port.height], 1);
  let items = apart(found.filter((item) => !container(item)));
  const complete = items.length <= limit;
  if (!complete) {
    const best = new Set(inOrder(items).sort((a, b) => SCORE[b.kind] - SCORE[a.kind])
      .slice(0, limit));
    items = items.filter((item) => best.has(item));
  }
  items = inOrder(items);

  // The boxes of an element's readable content, which labels must not cover.
  const textBoxes = (item) => {
    const rects = [];
    const visit = (node, depth) => {
      if (rects.length > 60 || depth > 60) return;
      if (dom.nodeType(node) === 3) {
        if (dom.nodeValue(node).trim()) rects.push(...rangeRects(node));
        return;
      }
      if (!dom.isElement(node) || SKIPPED.has(dom.tag(node))) return;
      if (['img', 'svg', 'canvas', 'video'].includes(dom.tag(node))) {
        rects.push(dom.rect(node));
        return;
      }
      for (const child of dom.children(node)) visit(child, depth + 1);
    };
    if (['input', 'select', 'textarea'].includes(item.tag)) rects.push(dom.rect(item.element));
    else visit(item.element, 0);
    const clips = dom.style(item.element).overflowX !== 'visible';
    const shown = clips ? meet(item.clip, item.box) : item.clip;
    return rects.filter(solid).map((r) => meet(shift(item.view, r), shown))
      .filter((r) => area(r) > 0);
  };
  const KEPT = ['type', 'placeholder', 'title', 'aria-label', 'alt', 'name'];
  const states = (element) => {
    const is = (name) => dom.attr(element, `aria-${name}`) === 'true';
    return Object.entries({
      disabled: dom.matches(element, ':disabled') || dom.closest(element, '[aria-disabled="true"]'),
      checked: dom.flag(element, 'checked') || is('checked'),
      selected: is('selected'),
      pressed: is('pressed'),
      expanded: is('expanded'),
    }).filter(([, holds]) => holds).map(([name]) => name);
  };
  const marks = items.map((item) => {
    const { element, tag } = item;
    const control = tag === 'label' ? hiddenControl(element) : null;
    const role = aria.role(control || element) || '';
    const attributes = {};
    for (const name of KEPT) {
      if (dom.attr(element, name)) attributes[name] = dom.clean(dom.attr(element, name)).slice(0, 200);
    }
    if (tag === 'a' && dom.has(element, 'href')) {
      attributes.href = dom.attr(element, 'href').trim().slice(0, 2000);
    }
    return {
      tag, kind: item.kind, role, attributes, secret: dom.isSecret(element),
      states: states(control || element),
      name: aria.name(element, role).slice(0, TEXT_LIMIT),
      url: tag === 'a' && typeof element.href === 'string' ? element.href.slice(0, 2000) : '',
      box: item.box, rects: item.rects, read: textBoxes(item),
    };
  });
  const elements = items.map((item) => item.element);
  const frames = items.map((item) => item.view.frames);
  return { elements, frames, json: dom.stringify({ marks, complete, port, page }) };
}
