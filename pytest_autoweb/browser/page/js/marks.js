// Finds the elements in the viewport that can be acted on, including open shadow roots and frames
// of the same origin. With `texts` it also finds elements that only show something, with `hover`
// those that appear under the mouse, and with `lines` the page's text outside of all of them.
({ dom, aria, hovering, visuals }, { limit, texts, hover, lines }) => {
  const ROLES = new Set(['button', 'link', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'tab',
    'checkbox', 'radio', 'switch', 'option', 'combobox', 'listbox', 'slider', 'spinbutton',
    'searchbox', 'textbox', 'treeitem']);
  const SCORE = { native: 1, event: 0.95, aria: 0.9, tabindex: 0.85, delegated: 0.85, cursor: 0.7,
    hover: 0.6, text: 0.5 };
  const SURE = new Set(['native', 'event', 'aria']);
  // Other roles act as one element, so uncertain elements within them are parts of them. These three
  // contain separate elements.
  const PARTS = new Set(['combobox', 'listbox', 'treeitem']);
  // A row that reacts to clicks is one target: cells that only look clickable belong to it.
  const ROWS = new Set(['row', 'listitem', 'option', 'treeitem']);
  const isRow = (element) => ['tr', 'li'].includes(dom.tag(element))
    || ROWS.has((dom.attr(element, 'role') || '').trim().toLowerCase());
  const whole = (item) => item.kind === 'native' || (item.kind === 'aria'
    && !PARTS.has((dom.attr(item.element, 'role') || '').trim().toLowerCase()));
  const swallows = (item, kind) => !SURE.has(kind)
    && (kind === 'text' ? SURE.has(item.kind)
      : whole(item) || isRow(item.element));
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
    if (visuals.isEditor(element)) return 'native';
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
  const pieces = [];
  const openers = new Map();
  const keepText = (node, at) => {
    if (at.faint || page.length > 3000) return;
    if (!dom.nodeValue(node).trim()) {
      if (dom.nodeValue(node) && pieces.length) pieces[pieces.length - 1].spaced = true;
      return;
    }
    const rects = rangeRects(node).filter(solid).map((r) => shift(at.view, r));
    const seen = rects.map((r) => meet(r, at.clip)).filter((r) => area(r) > 0);
    page.push(...seen);
    if (lines && rects.length && pieces.length < 3000) {
      pieces.push({ node, at, box: union(seen.length ? seen : rects), seen: seen.length > 0,
        marks: found.length });
    }
  };
  // What a picture is called is text that nobody sees; in a list it stands for the picture.
  const keepPicture = (element, tag, at) => {
    const title = visuals.title(element, tag) || (tag === 'img' ? dom.attr(element, 'alt') || '' : '');
    if (!/[\p{L}\p{N}]/u.test(title)) return false;
    const box = shift(at.view, dom.rect(element));
    const seen = meet(box, at.clip);
    if (area(box) > 0) {
      pieces.push({ said: `img ${JSON.stringify(title.slice(0, 100))}`, at: { ...at, up: element }, box,
        seen: area(seen) > 0, marks: found.length });
    }
    return true;
  };
  const CONTENT = 'a, button, input, select, textarea, iframe, frame';
  const isPicture = (element, tag) => PICTURES.has(tag)
    || ((dom.has(element, 'title') || dom.has(element, 'aria-label'))
      && !dom.clean(element.textContent || '') && !dom.query(element, CONTENT).length);
  const boxesSeen = [];
  const keepScrolled = (element, css, at) => {
    const hidden = visuals.scrolled(element, css);
    const box = hidden && meet(shift(at.view, dom.rect(element)), at.clip);
    if (!box || area(box) <= 0) return;
    boxesSeen.push({ name: dom.clean(dom.attr(element, 'aria-label') || '').slice(0, 80), hidden, box });
  };
  // What no style shows under the mouse may still be shown by a script, if it can be hit at all.
  const hidesControl = (element) => {
    if (dom.matches(element, NATIVE) || listens(element)) return [element];
    return dom.query(element, `${NATIVE}, [role=button], [role=menuitem], [onclick]`);
  };
  const keepOpener = (element, at) => {
    if (!at.up || openers.size > 200 || !hovering.shows(element)) return;
    const names = hidesControl(element).slice(0, 8).map(
      (control) => aria.name(control, aria.role(control) || 'button')).filter(Boolean);
    if (!names.length) return;
    // Pointing at any part of the row shows it, so the part with text is the one to mark.
    let up = at.up;
    for (let step = 0; step < 4 && !dom.clean(up.innerText || ''); step += 1) {
      up = dom.parent(up) || up;
    }
    const known = openers.get(up);
    openers.set(up, { at: known ? known.at : at, names: [...(known ? known.names : []), ...names] });
  };
  // `at` holds the document's view, the clipping rectangles, the opacity and the closest marked
  // ancestor.
  const walk = (element, at) => {
    if (!dom.isElement(element) || at.depth > 300) return;
    const tag = dom.tag(element);
    if (SKIPPED.has(tag)) return;
    const css = dom.style(element);
    if (!css || dom.has(element, 'inert')) return;
    if (css.display === 'none') {
      if (hover && !at.faint) keepOpener(element, at);
      return;
    }
    const opacity = at.opacity * Number(css.opacity);
    const faint = at.faint || opacity < 0.1;
    if (faint && !hover) return;
    const hidden = css.visibility !== 'visible';
    const fixed = css.position === 'fixed';
    const base = fixed ? at.frameClip : css.position === 'absolute' ? at.anchorClip : at.clip;
    let owner = at.owner;
    const there = !hidden && css.pointerEvents !== 'none';
    if (there || (hover && hovering.shows(element))) {
      const kind = kindOf(element, tag, css, at.cursor);
      const part = kind && owner && (owner.editor || swallows(owner, kind));
      const wanted = kind && !part
        && ((there && !faint) || (SURE.has(kind) && !isLabelled(element)));
      if (wanted) {
        const made = candidate(element, tag, kind, base, { ...at, faint, there });
        if (made) owner = made;
      }
    }
    if (tag === 'iframe' || tag === 'frame') {
      frame(element, at, base, opacity);
      return;
    }
    if (tag === 'select' || tag === 'textarea') return;
    const told = lines && there && !faint;
    const pictured = at.pictured || (told && isPicture(element, tag)
      && keepPicture(element, tag, { ...at, owner, clip: base }));
    if (told) keepScrolled(element, css, { ...at, clip: base });
    let clip = base;
    if (css.overflowX !== 'visible' || css.overflowY !== 'visible') {
      if (tag !== 'html' && tag !== 'body' && !css.display.startsWith('inline ')) {
        const r = shift(at.view, dom.rect(element));
        if (css.display !== 'contents' && css.display !== 'inline') clip = meet(clip, r);
      }
    }
    const anchor = css.position !== 'static' || css.transform !== 'none';
    const below = { ...at, clip, opacity, faint, owner, pictured, up: element, cursor: css.cursor,
      depth: at.depth + 1,
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
    if (at.there && !onTop(element, seen)) return null;
    const made = { element, tag, kind, rects: seen, box: union(seen), clip, view: at.view,
      owner: at.owner, inner: 0, filled: 0, reveals: [], at: found.length,
      editor: visuals.editorKind(element),
      // A transparent field lies over its picture; other transparent controls wait for the mouse.
      revealed: !at.there || (at.faint && (tag !== 'input' || hovering.shows(element))) };
    for (let up = at.owner; up && kind !== 'text'; up = up.owner) up.inner += 1;
    if (at.owner) at.owner.filled += area(made.box);
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
      walk(root, { view, clip, frameClip: clip, anchorClip: clip, opacity, faint: false,
        owner: null, up: null, pictured: false, cursor: 'auto', depth: 0 });
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
  const isLabelled = (element) => dom.tag(element) === 'input' && aria.labels(element).some(dom.visible);
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
  // A row with controls of its own stays a target, unless they leave nothing of it. Rows without a
  // tag for them look all alike.
  const repeated = (element) => {
    const above = dom.parent(element);
    const kind = dom.attr(element, 'class');
    return Boolean(above && kind) && Array.from(above.children).filter(
      (other) => dom.tag(other) === dom.tag(element) && dom.attr(other, 'class') === kind).length > 2;
  };
  const isListed = (item) => area(item.box) < 0.3 * port.width * port.height
    && (item.kind === 'event' || item.filled < 0.6 * area(item.box))
    && (isRow(item.element) || repeated(item.element));
  const container = (item) => item.kind !== 'native' && item.kind !== 'hover' && !isListed(item)
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
      else if (item.kind === 'hover') {
        for (const other of kept) {
          if (inside(item, other) || inside(other, item)) other.reveals.push(...item.reveals);
        }
      }
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
  for (const [element, { at, names }] of openers) {
    // A menu's button says all that the menu says before it opens.
    const said = dom.clean(element.innerText || '');
    const known = found.find((item) => leadsTo(item.element, element)
      && (item.element === element || dom.clean(item.element.innerText || '') === said));
    const made = known || candidate(element, dom.tag(element), 'hover', at.clip,
      { ...at, there: true });
    if (made) made.reveals.push(...new Set(names));
  }
  let items = apart(found.filter((item) => !container(item)));
  const complete = items.length <= limit;
  if (!complete) {
    const best = new Set(inOrder(items).sort((a, b) => SCORE[b.kind] - SCORE[a.kind])
      .slice(0, limit));
    items = items.filter((item) => best.has(item));
  }
  items = inOrder(items);

  // The boxes of an element's readable content, which labels must not cover, and of its pictures.
  const contents = (item) => {
    const rects = [];
    const pictures = [];
    const visit = (node, depth) => {
      if (rects.length > 60 || depth > 60) return;
      if (dom.nodeType(node) === 3) {
        if (dom.nodeValue(node).trim()) rects.push(...rangeRects(node));
        return;
      }
      if (!dom.isElement(node) || SKIPPED.has(dom.tag(node))) return;
      if (['img', 'svg', 'canvas', 'video'].includes(dom.tag(node))) {
        pictures.push(dom.rect(node));
        return;
      }
      for (const child of dom.children(node)) visit(child, depth + 1);
    };
    if (['input', 'select', 'textarea'].includes(item.tag)) rects.push(dom.rect(item.element));
    else visit(item.element, 0);
    const clips = dom.style(item.element).overflowX !== 'visible';
    const shown = clips ? meet(item.clip, item.box) : item.clip;
    const seen = (some) => some.filter(solid).map((r) => meet(shift(item.view, r), shown))
      .filter((r) => area(r) > 0);
    return { read: seen(rects), pictures: seen(pictures) };
  };
  // The page's text outside of the marked elements and their labels: adjacent texts of a block that
  // no mark separates are one line.
  const textLines = () => {
    const kept = new Set(items);
    const marked = new Set(items.map((item) => item.element));
    const places = items.map((item) => item.at).sort((a, b) => a - b);
    const between = (from, to) => places.some((at) => at >= from && at < to);
    const blocks = new Map();
    const blockOf = (element) => {
      if (!blocks.has(element)) {
        const above = dom.parent(element);
        const inline = above && ['inline', 'contents'].includes(dom.style(element).display);
        blocks.set(element, inline ? blockOf(above) : element);
      }
      return blocks.get(element);
    };
    const told = ({ at: { owner, up } }) => {
      for (let item = owner; item; item = item.owner) if (kept.has(item)) return true;
      const label = up && dom.closest(up, 'label');
      return Boolean(label && label.control && marked.has(label.control));
    };
    const made = [];
    for (const piece of pieces) {
      if (told(piece) || !piece.at.up) continue;
      const block = piece.said ? piece : blockOf(piece.at.up);
      const last = made[made.length - 1];
      const text = (piece.said || dom.nodeValue(piece.node)) + (piece.spaced ? ' ' : '');
      if (last && last.block === block && last.seen === piece.seen
        && !between(last.marks, piece.marks)) {
        last.text += text;
        last.marks = piece.marks;
      } else {
        made.push({ block, text, box: piece.box, seen: piece.seen, marks: piece.marks });
      }
    }
    return made.map(({ text, box, seen }) => ({ text: dom.clean(text).slice(0, 2000), box, seen }));
  };
  const KEPT = ['type', 'placeholder', 'title', 'aria-label', 'alt', 'name'];
  const focusIn = (root) => {
    let at = root.activeElement;
    for (let deep = 0; at && deep < 30; deep += 1) {
      const inner = dom.shadow(at) ? dom.shadow(at).activeElement
        : views.has(at) ? views.get(at).document.activeElement : null;
      if (!inner) break;
      at = inner;
    }
    return at;
  };
  const focused = focusIn(document);
  // Where an element is, as the places of its ancestors among their siblings.
  const placeOf = (element) => {
    const steps = [];
    for (let node = element; node && steps.length < 300; node = dom.parent(node)) {
      const above = dom.parentNode(node);
      steps.push(above ? Array.from(dom.childNodes(above)).indexOf(node) : 0);
    }
    return steps.join('/');
  };
  const states = (element, tag, role) => {
    const said = (name) => dom.attr(element, `aria-${name}`);
    const is = (name) => said(name) === 'true';
    const details = tag === 'summary' ? dom.closest(element, 'details') : null;
    const field = ['input', 'textarea', 'select'].includes(tag);
    const open = details ? dom.has(details, 'open') : is('expanded');
    const named = Object.entries({
      disabled: dom.matches(element, ':disabled') || dom.closest(element, '[aria-disabled="true"]'),
      checked: dom.flag(element, 'checked') || is('checked'),
      mixed: said('checked') === 'mixed' || (tag === 'input' && element.indeterminate === true),
      selected: is('selected'),
      pressed: is('pressed'),
      expanded: open,
      collapsed: !open && (details || said('expanded') === 'false'),
      current: said('current') && said('current') !== 'false',
      required: (field && dom.has(element, 'required')) || is('required'),
      readonly: (field && dom.has(element, 'readonly')) || is('readonly'),
      invalid: said('invalid') && said('invalid') !== 'false',
      focused: element === focused,
    }).filter(([, holds]) => holds).map(([name]) => name);
    const told = ['checked', 'mixed', 'selected', 'pressed', 'current'].some((name) => named.includes(name));
    return told ? named : [...named, ...visuals.classState(element, !role)];
  };
  const marks = items.map((item) => {
    const { element, tag } = item;
    const control = tag === 'label' ? hiddenControl(element)
      : item.editor ? visuals.editorField(element) : null;
    const role = item.editor ? 'textbox' : aria.role(control || element) || '';
    const attributes = {};
    for (const name of KEPT) {
      if (dom.attr(element, name)) attributes[name] = dom.clean(dom.attr(element, name)).slice(0, 200);
    }
    if (tag === 'a' && dom.has(element, 'href')) {
      attributes.href = dom.attr(element, 'href').trim().slice(0, 2000);
    }
    return {
      tag, kind: item.kind, role, attributes, secret: dom.isSecret(element),
      states: states(control || element, dom.tag(control || element), role),
      editor: item.editor,
      revealed: item.revealed, reveals: item.reveals.slice(0, 8).map((name) => name.slice(0, 80)),
      name: aria.name(item.editor ? control : element, role).slice(0, TEXT_LIMIT),
      url: tag === 'a' && typeof element.href === 'string' ? element.href.slice(0, 2000) : '',
      box: item.box, rects: item.rects, ...contents(item),
    };
  });
  const elements = items.map((item) => item.element);
  const frames = items.map((item) => item.view.frames);
  const json = dom.stringify({ marks, complete, port, page, focus: placeOf(focused),
    lines: lines ? textLines() : [], scrolled: boxesSeen });
  return { elements, frames, json };
}
