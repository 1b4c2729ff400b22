// A selector engine of Playwright that keeps to one element, although the page around it is redrawn.
//
// It follows a locator, as `… >> same=17:point`, and is asked each time Playwright looks for the
// element. The first time it notes what tells the element from its twins: role, name and the texts
// of its row. Later it gives that element, or the only one that equals it, and otherwise an error.
// While a call is under way, it also looks at each event before the page does: a list may put
// another record into the same nodes at any moment.
//
// Body: NUMBER:GUARD[:what the caller was shown, as a query string], NUMBER:view, which scrolls to the
// element, NUMBER:end, look, or note, which keeps what tells each element from its twins until a call
// asks for it (`noted`). NUMBER:keep keeps the node itself, and NUMBER:kept gives it, wherever it is
// in the page by then.
({ dom, aria }) => {
  const LEVELS = 15;
  const ROWS_BESIDE = 3;
  const TWINS = 20;
  const CANDIDATES = 500;
  const PIECES = 60;
  const NODES = 600;
  const CHARS = 200;
  const TOLD_CHARS = 60;
  const CARD_CHARS = 400;
  const PINS = 100;
  // How long a list that is being drawn anew may lack the element.
  const PATIENCE_MS = 700;
  const CONTROLS = new Set(['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio',
    'switch', 'slider', 'spinbutton', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio', 'img']);
  // Their texts change as they are pointed at or used.
  const PRESSED = new Set(['button', 'menuitem', 'tab', 'switch', 'tooltip', 'menu']);
  const UNREAD = new Set(['script', 'style', 'noscript', 'template']);
  const RECORDS = new Set(['tr', 'li', 'article']);
  // Times that are counted on and progress tell nothing of which record it is.
  const FLUID = /\bago\b|\bjust now\b|\d\s?%|\bin \d+ ?(?:s|sec|min)|\d ?(?:s|seconds?|min|minutes?) (?:left|remaining)|[前刚]/iu;
  const POINT = ['pointerdown', 'mousedown', 'touchstart', 'pointerup', 'mouseup', 'touchend', 'click',
    'auxclick', 'contextmenu', 'dblclick'];
  const PRESS = ['pointerdown', 'mousedown'];
  const KEYS = ['keydown', 'beforeinput'];
  const GUARDS = { point: POINT, press: PRESS, text: KEYS, hover: ['mousemove'], none: [] };
  const pins = new Map();
  const notes = new WeakMap();
  const NOTES = 800;
  let noting = 0;
  const keptNodes = new Map();

  const cut = (text, chars) => (text.length > chars ? `${text.slice(0, chars - 1)}…` : text);
  const type = (element) => (dom.attr(element, 'type') || '').toLowerCase();
  // What was read of an element, as long as many are looked at without a pause.
  let memo = null;
  const once = (kind, element, read) => {
    if (!memo) return read(element);
    const known = memo[kind];
    if (!known.has(element)) known.set(element, read(element));
    return known.get(element);
  };
  const label = (element) => once('labels', element, (one) => {
    const tag = dom.tag(one);
    const fixed = tag === 'input' && ['button', 'submit', 'reset'].includes(type(one));
    const said = dom.attr(one, 'aria-label') || (fixed ? dom.value(one) : '')
      || (['input', 'textarea', 'select'].includes(tag) ? '' : one.textContent || '');
    return dom.clean(said || dom.attr(one, 'placeholder') || dom.attr(one, 'alt')
      || dom.attr(one, 'title') || '').slice(0, CHARS);
  });
  const rolesOf = (element) => once('roles', element, (one) => aria.role(one) || dom.tag(one));
  const isControl = (element) => CONTROLS.has(aria.role(element));
  const elements = (node) => Array.from(dom.childNodes(node)).filter(dom.isElement);
  const above = (node) => dom.parentNode(node) || null;
  // The parent, or the host of the shadow root.
  const outer = (node) => {
    const up = above(node);
    return up && dom.nodeType(up) === 11 ? up.host || null : up && dom.isElement(up) ? up : null;
  };
  // The nearest elements of the same kind before and after, in the same parent.
  const alike = (element) => {
    const up = above(element);
    if (!up) return [];
    const all = elements(up).filter((one) => dom.tag(one) === dom.tag(element));
    const at = all.indexOf(element);
    return [...all.slice(Math.max(0, at - ROWS_BESIDE), at), ...all.slice(at + 1, at + 1 + ROWS_BESIDE)];
  };
  // Elements below one, those of shadow roots too if `deep`.
  const below = (root, tag, deep) => {
    if (!deep) return dom.query(root, tag).slice(0, TWINS);
    const found = [];
    let left = NODES;
    const walk = (node) => {
      for (const child of dom.children(node)) {
        left -= 1;
        if (left < 0 || found.length >= TWINS) return;
        if (!dom.isElement(child)) continue;
        if (dom.tag(child) === tag) found.push(child);
        walk(child);
      }
    };
    walk(root);
    return found;
  };
  const isShadow = (element) => dom.nodeType(element.getRootNode()) === 11;

  // Returns the largest part of the page that belongs to the element alone among its twins, and
  // the like parts beside it.
  const rowOf = (element) => {
    const [tag, role, own, deep] = [dom.tag(element), rolesOf(element), label(element), isShadow(element)];
    const control = isControl(element);
    let loose = null;
    for (let at = element, level = 0; at && level < LEVELS; at = outer(at), level += 1) {
      const rows = alike(at);
      const twins = rows.map((row) => (at === element ? [row] : below(row, tag, deep))
        .filter((one) => rolesOf(one) === role));
      if (control && twins.some((found) => found.some((one) => label(one) === own))) {
        return { row: at, rows };
      }
      if (!loose && twins.some((found) => found.length)) loose = { row: at, rows };
      if (loose && !control) return loose;
    }
    return loose || { row: cardOf(element), rows: [] };
  };
  // Without twins: the record or the small part of the page with other texts that it stands in.
  const cardOf = (element) => {
    for (let at = element; at; at = outer(at)) {
      if (at === element) continue;
      if (['body', 'html', 'main'].includes(dom.tag(at))) break;
      const text = dom.clean(at.textContent || '');
      if (RECORDS.has(dom.tag(at)) || ['row', 'listitem'].includes(dom.attr(at, 'role'))) return at;
      if (text.length > CARD_CHARS) break;
      if (text && text !== dom.clean(element.textContent || '')) return at;
    }
    return element;
  };

  // Returns the texts of a part of the page: what is read, what fields hold, what pictures show.
  const read = (root, without) => {
    const found = [];
    let left = NODES;
    const walk = (node) => {
      if (node === without || left < 0 || found.length >= PIECES) return;
      left -= 1;
      if (dom.nodeType(node) === 3) {
        const text = dom.clean(dom.nodeValue(node));
        if (text) found.push(text.slice(0, CHARS));
        return;
      }
      if (!dom.isElement(node)) return;
      const tag = dom.tag(node);
      if (UNREAD.has(tag) || (node !== root && PRESSED.has(aria.role(node)))) return;
      if (['input', 'textarea', 'select'].includes(tag)) {
        const ticked = ['checkbox', 'radio', 'file', 'button', 'submit', 'reset', 'image'];
        const value = ticked.includes(type(node)) || dom.isSecret(node) ? '' : dom.clean(dom.value(node));
        if (value) found.push(value.slice(0, CHARS));
        return;
      }
      const alt = tag === 'img' ? dom.clean(dom.attr(node, 'alt') || '') : '';
      if (alt) found.push(alt.slice(0, CHARS));
      for (const child of dom.children(node)) walk(child);
    };
    walk(root);
    return found;
  };
  // In a flat list, the texts between an element and the twins before and after it.
  const between = (element, rows) => {
    const up = above(element);
    const all = up ? Array.from(dom.childNodes(up)) : [];
    const at = all.indexOf(element);
    const until = (nodes) => {
      const end = nodes.findIndex((node) => rows.includes(node));
      return nodes.slice(0, end < 0 ? 20 : end).slice(0, 20);
    };
    const before = until(all.slice(0, at).reverse()).reverse().flatMap((node) => read(node, element));
    const after = until(all.slice(at + 1)).flatMap((node) => read(node, element));
    return [before, after];
  };
  const look = (element) => {
    const { row, rows } = rowOf(element);
    const role = aria.role(element);
    const flat = row === element && isControl(element);
    const [before, after] = flat ? between(element, rows) : [read(row, element), []];
    const pieces = row === element && !flat ? read(element, null) : [...before, ...after];
    const others = new Set(flat ? [] : rows.flatMap((one) => once('texts', one, (it) => read(it, null))));
    let unique = pieces.filter((piece) => !others.has(piece));
    const href = dom.tag(element) === 'a' ? dom.attr(element, 'href') || '' : '';
    if (!unique.length && href) {
      pieces.push(href);
      unique = [href];
    }
    const name = memo ? label(element)
      : dom.clean(aria.name(element, role) || label(element)).slice(0, CHARS);
    const telling = flat ? (before.length ? before : after) : row === element ? [] : pieces;
    return {
      role: rolesOf(element),
      own: label(element),
      name,
      whole: row === element && !flat,
      pieces,
      unique: Array.from(new Set(unique)),
      around: rows.map((one) => dom.clean(one.textContent || '').slice(0, CHARS)).join('\n'),
      // An address is no text that stands beside it.
      beside: telling.filter((piece) => piece !== href).join(' '),
    };
  };
  const quoted = (text) => `"${cut(text, TOLD_CHARS).replace(/"/g, "'")}"`;
  const told = ({ role, name, beside }) => [role, name ? quoted(name) : '',
    beside ? `beside ${quoted(beside)}` : ''].filter(Boolean).join(' ');

  // One number of a row may change, such as a price: the row keeps its node, all its other texts and
  // the rows beside it, none of which a list keeps that shows another record there.
  const isOneValue = (before, now, lost, known) => {
    const gained = now.pieces.filter((piece) => !known.has(piece));
    const at = before.pieces.indexOf(lost[0]);
    const shape = (text) => text.replace(/\d+(?:[.,:]\d+)*/g, '0');
    return lost.length === 1 && gained.length === 1 && now.pieces[at] === gained[0]
      && now.pieces.length === before.pieces.length && /\d/.test(lost[0])
      && shape(lost[0]) === shape(gained[0]) && before.around !== ''
      && now.around === before.around;
  };
  // Tells whether what is there now is the element that was noted. The text of the very node may
  // change as it is pointed at; that of another node must be the same.
  const isSame = (before, now, { node, touched }) => {
    if (now.role !== before.role) return false;
    const there = new Set(now.pieces);
    const known = new Set(before.pieces);
    const kept = before.unique.filter((piece) => there.has(piece));
    const sure = kept.some((piece) => !FLUID.test(piece));
    const lost = before.unique.filter((piece) => !there.has(piece) && !(sure && FLUID.test(piece)));
    const gained = now.pieces.some((piece) => !known.has(piece));
    const still = node && kept.length > 0;
    if (lost.length && (!still || gained) && !(still && isOneValue(before, now, lost, known))) {
      return false;
    }
    if (now.own === before.own || before.whole) return true;
    if (!node) return false;
    if (sure) return true;
    return before.around ? now.around === before.around : touched;
  };
  const fits = (pin, element, touched = false) => dom.tag(element) === pin.tag
    && isSame(pin.facts, look(element), { node: element === pin.element, touched });
  const isThere = (element) => element.isConnected && dom.visible(element);

  // Returns the only element of its document or shadow root that equals the noted one.
  const findEqual = (pin, root) => {
    const { facts } = pin;
    if (!facts.unique.length && facts.pieces.length) return null;
    const found = dom.query(root.getRootNode ? root.getRootNode() : document, pin.tag).slice(0, CANDIDATES)
      .filter((one) => dom.visible(one) && (facts.whole || label(one) === facts.own) && fits(pin, one));
    return found.length === 1 ? found[0] : null;
  };
  const settled = (pin, root) => {
    if (isThere(pin.element) && fits(pin, pin.element)) return pin.element;
    if (root !== pin.element && fits(pin, root)) return root;
    return findEqual(pin, root) || (pin.element.isConnected && fits(pin, pin.element) ? pin.element : null);
  };
  const moved = (pin, root) => {
    const there = root ? told(look(root)) : '';
    const now = there && there !== told(pin.facts) ? `; ${there} is in its place` : '';
    return `the rows moved: ${told(pin.facts)} is no longer there${now}`;
  };

  // What the caller was shown may end in "…"; texts are compared without regard to spaces.
  const hasText = (text, shown) => {
    const [all, part] = [text, shown].map((one) => dom.clean(one).toLowerCase().replace(/["']/g, "'"));
    return part.endsWith('…') ? ` ${all}`.includes(` ${part.slice(0, -1)}`)
      : ` ${all} `.includes(` ${part} `);
  };
  const wasShown = (shown, facts) => (!shown.role || shown.role === facts.role)
    && (!shown.name || hasText(facts.name, shown.name))
    && (!shown.beside || hasText(`${facts.beside} ${facts.pieces.join(' ')} ${facts.name}`, shown.beside));
  const asNoted = (root) => {
    const [facts, now] = [notes.get(root), look(root)];
    if (!facts || isSame(facts, now, { node: true, touched: false })) return [root, now];
    const pin = { element: null, facts, tag: dom.tag(root) };
    const found = findEqual(pin, root);
    if (!found) throw new Error(moved(pin, root));
    return [found, facts];
  };
  const note = (root) => {
    if (!noting) {
      memo = { labels: new Map(), roles: new Map(), texts: new Map() };
      queueMicrotask(() => {
        noting = 0;
        memo = null;
      });
    }
    noting += 1;
    if (noting <= NOTES && dom.visible(root)) notes.set(root, look(root));
    return [];
  };
  const asShown = (shown, root) => {
    if (shown.noted) return asNoted(root);
    const facts = look(root);
    if (wasShown(shown, facts)) return [root, facts];
    const found = dom.query(root.getRootNode(), dom.tag(root)).slice(0, CANDIDATES)
      .filter((one) => dom.visible(one)).map((one) => [one, look(one)])
      .filter(([, seen]) => wasShown(shown, seen));
    if (shown.beside && found.length === 1) return found[0];
    throw new Error(`the rows moved: ${told({ role: '', name: '', ...shown })} is no longer there; `
      + `${told(facts)} is in its place`);
  };

  // The element that an event reaches: the noted one, else the nearest of the same kind.
  const reached = (pin, event) => {
    const path = event.composedPath().filter((node) => node.nodeType === 1);
    if (path.includes(pin.element)) return pin.element;
    return path.slice(0, LEVELS).find((one) => dom.tag(one) === pin.tag
      && rolesOf(one) === pin.facts.role) || null;
  };
  const guard = (pin, kinds) => {
    if (!kinds.length) return () => {};
    // As long as nothing changed, nothing has to be compared.
    const changes = new MutationObserver(() => {
      pin.changed = true;
    });
    const all = { subtree: true, childList: true, characterData: true, attributes: true };
    for (const root of [document, pin.element.getRootNode()]) changes.observe(root, all);
    const check = (event) => {
      if (!event.isTrusted) return;
      // What is typed may change what stands around.
      if (KEYS.includes(event.type) && pin.reached) return;
      const hit = pin.stopped ? null : reached(pin, event);
      pin.changed = changes.takeRecords().length > 0 || pin.changed;
      if (hit && (pin.changed || hit !== pin.element) && !fits(pin, hit, true)) {
        pin.stopped = moved(pin, hit);
        pin.late = pin.reached;
      }
      if (pin.stopped && event.type !== 'mousemove') {
        event.preventDefault();
        event.stopImmediatePropagation();
      } else if (hit && event.type !== 'mousemove') pin.reached = true;
    };
    for (const kind of kinds) window.addEventListener(kind, check, { capture: true, passive: false });
    return () => {
      changes.disconnect();
      for (const kind of kinds) window.removeEventListener(kind, check, { capture: true });
    };
  };

  const pinned = (number, kind, shown, root) => {
    let pin = pins.get(number);
    // A locator that fits several elements asks for each of them at once, and is told so.
    if (pin && pin.asked) return [root];
    if (!pin) {
      const [element, facts] = shown ? asShown(shown, root) : [root, look(root)];
      pin = { element, facts, tag: dom.tag(element), missed: 0, stopped: '', reached: false };
      pins.set(number, pin);
      if (pins.size > PINS) unpin(pins.keys().next().value);
    } else {
      const element = settled(pin, root);
      if (!element) {
        pin.missed = pin.missed || performance.now();
        pin.lost = moved(pin, root);
        if (performance.now() - pin.missed < PATIENCE_MS) return [];
        throw new Error(pin.lost);
      }
      Object.assign(pin, { element, missed: 0, lost: '', stopped: '' });
    }
    if (!pin.release) pin.release = guard(pin, GUARDS[kind] || []);
    pin.asked = true;
    queueMicrotask(() => {
      pin.asked = false;
    });
    return [pin.element];
  };
  const unpin = (number) => {
    const pin = pins.get(number);
    if (pin && pin.release) pin.release();
    pins.delete(number);
  };
  const report = (facts) => {
    const node = document.createElement('span');
    node.textContent = dom.stringify(facts);
    return [node];
  };
  const ended = (number, keep, root) => {
    const pin = pins.get(number);
    if (!pin) return report({});
    const { facts, stopped, late, lost } = pin;
    const gone = pin.element.isConnected || findEqual(pin, root) ? '' : moved(pin, null);
    if (!keep || !stopped || late) unpin(number);
    return report({ seen: tellable(facts), stopped, late: Boolean(late), lost: lost || '', gone });
  };
  const viewed = (number) => {
    const pin = pins.get(number);
    if (!pin) return report({});
    const before = dom.rect(pin.element);
    const scroll = (block) => Element.prototype.scrollIntoView.call(pin.element,
      { block, inline: 'nearest', behavior: 'instant' });
    scroll('nearest');
    const after = dom.rect(pin.element);
    const scrolled = before.x !== after.x || before.y !== after.y;
    // In the middle nothing that stays at an edge covers it.
    if (scrolled) scroll('center');
    return report({ scrolled });
  };
  const tellable = ({ role, name, beside }) => ({
    role, name: cut(name, TOLD_CHARS), beside: cut(beside, TOLD_CHARS),
  });
  const queryAll = (root, body) => {
    if (body === 'look') return report(tellable(look(root)));
    if (body === 'note') return note(root);
    const [number, kind, shown] = body.split(':');
    if (kind === 'keep') {
      keptNodes.set(number, root);
      if (keptNodes.size > PINS) keptNodes.delete(keptNodes.keys().next().value);
      return [root];
    }
    if (kind === 'kept') return [keptNodes.get(number)].filter((node) => node && node.isConnected);
    if (kind === 'view') return viewed(number);
    if (kind === 'end' || kind === 'pause') return ended(number, kind === 'pause', root);
    return pinned(number, kind, shown ? Object.fromEntries(new URLSearchParams(shown)) : null, root);
  };
  return { queryAll, query: (root, body) => queryAll(root, body)[0] || null };
}
