// Reads a document as a person sees it: a tree of texts and elements, with what tells them apart.
({ dom, aria, sight, hovering, visuals, longLists },
  { limit, milliseconds, characters, noted, listening: heard, entered, framed, rows }) => {
  const listening = new Set(heard);
  const entering = new Set(entered);
  const CONTROLS = new Set(['button', 'link', 'textbox', 'searchbox', 'combobox', 'checkbox', 'radio',
    'switch', 'slider', 'spinbutton', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'option', 'treeitem', 'listbox', 'iframe']);
  const STRUCTURE = new Set(['heading', 'list', 'listitem', 'table', 'grid', 'treegrid', 'row', 'cell',
    'gridcell', 'columnheader', 'rowheader', 'dialog', 'alertdialog', 'navigation', 'main', 'banner',
    'contentinfo', 'complementary', 'region', 'form', 'search', 'group', 'radiogroup', 'figure', 'img',
    'alert', 'status', 'log', 'progressbar', 'meter', 'tablist', 'tabpanel', 'menu', 'menubar',
    'toolbar', 'tree', 'tooltip', 'article', 'caption', 'feed', 'term', 'definition', 'timer']);
  const NAMED = new Set([...CONTROLS, 'heading', 'img', 'dialog', 'alertdialog', 'navigation',
    'region', 'form', 'group', 'radiogroup', 'figure', 'table', 'grid', 'list', 'tablist', 'tabpanel',
    'menu', 'menubar', 'toolbar', 'tree', 'treegrid', 'progressbar', 'meter', 'search',
    'complementary', 'article', 'alert', 'status']);
  const IMPLICIT = { ul: 'list', ol: 'list', menu: 'list', li: 'listitem', tr: 'row', td: 'cell',
    th: 'columnheader', nav: 'navigation', main: 'main', aside: 'complementary', article: 'article',
    figure: 'figure', fieldset: 'group', details: 'group', caption: 'caption', meter: 'meter',
    output: 'status', dt: 'term', dd: 'definition', iframe: 'iframe', frame: 'iframe' };
  const WHOLE = new Set(['button', 'link', 'tab', 'menuitem', 'menuitemcheckbox', 'menuitemradio',
    'checkbox', 'radio', 'switch', 'option', 'treeitem']);
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'option', 'optgroup',
    'datalist', 'object', 'embed', 'param', 'source', 'track', 'title', 'defs']);
  const SHAPES = new Set(['path', 'circle', 'rect', 'line', 'polyline', 'polygon', 'ellipse', 'use',
    'clippath', 'mask', 'lineargradient', 'radialgradient', 'stop', 'filter', 'pattern', 'symbol']);
  const ROWS = new Set(['row', 'listitem', 'option', 'treeitem', 'article']);
  const EDITOR_LINES_MOST = 2000;
  const EDITOR_LEVELS = 4;
  const HIDDEN_PARTS = 400;
  const OVER_LEVELS = 10;
  const REGION_CHARS = 1500;
  const REGION_CONTROLS = 12;
  const VALUE_CHARS = 20000;
  // Below the first of these levels nothing is nested any more: its parts move up.
  const NESTED = 100;
  const DEPTH = 1000;
  const NAME_CHARS = 2000;
  const TEXT_CHARS = 100_000;

  const began = performance.now();
  const elements = [];
  const judged = [];
  let visited = 0;
  let room = characters;
  const spent = () => performance.now() - began;
  let full = true;
  const late = () => {
    visited += 1;
    // The clock is asked seldom, since that takes as long as all the rest.
    const over = visited % 32 === 0 && spent() > milliseconds;
    if (visited > limit || room < 0 || over) full = false;
    return !full;
  };
  const attr = dom.attr;
  const words = (text) => /[\p{L}\p{N}]/u.test(text);
  const inert = dom.within((element) => dom.has(element, 'inert'));
  const disabled = dom.within((element) => attr(element, 'aria-disabled') === 'true');
  const truthy = (element, name) => attr(element, name) === 'true';

  // -- what an element is ---------------------------------------------------------------
  // Rows, cells and items of what is a table or a list by its tag only are none themselves.
  const HELD_BY = { li: ['ul', 'ol'], dt: ['dl', 'div'], dd: ['dl', 'div'], div: ['dl'], td: ['tr'],
    th: ['tr'], tr: ['thead', 'tbody', 'tfoot', 'table'], thead: ['table'], tbody: ['table'],
    tfoot: ['table'] };
  const layouts = new Map();
  const forLayout = (element) => {
    const above = dom.parentNode(element);
    const holders = HELD_BY[dom.tag(element)];
    if (!above || !holders || !holders.includes(dom.tag(above))) return false;
    if (!layouts.has(above)) {
      layouts.set(above, ['none', 'presentation'].includes(attr(above, 'role')) || forLayout(above));
    }
    return layouts.get(above);
  };
  const roleOf = (element, tag) => {
    const note = noted && element[noted];
    if (note && typeof note.role === 'string') return note.role;
    const own = aria.role(element);
    if (own && own !== 'none' && own !== 'presentation') return own;
    return dom.has(element, 'role') || forLayout(element) ? '' : IMPLICIT[tag] || '';
  };
  // Their names are what they hold, which is told anyway.
  const UNNAMED = new Set(['row', 'listitem', 'cell', 'gridcell', 'columnheader', 'rowheader',
    'generic', 'rowgroup']);
  const nameOf = (element, role) => {
    if (UNNAMED.has(role)) return '';
    const note = noted && element[noted];
    if (note && typeof note.name === 'string') return note.name.slice(0, NAME_CHARS);
    return NAMED.has(role) ? aria.name(element, role).slice(0, NAME_CHARS) : '';
  };
  const states = (element, role, tag) => {
    const found = [];
    const said = (name) => attr(element, `aria-${name}`);
    if (['checkbox', 'radio', 'switch', 'menuitemcheckbox', 'menuitemradio'].includes(role)) {
      if (element.indeterminate === true || said('checked') === 'mixed') found.push('mixed');
      else if (dom.flag(element, 'checked') || said('checked') === 'true') found.push('checked');
    }
    if (said('selected') === 'true') found.push('selected');
    if (['true', 'mixed'].includes(said('pressed'))) {
      found.push(said('pressed') === 'true' ? 'pressed' : 'pressed=mixed');
    }
    const open = tag === 'summary' && dom.tag(dom.parentNode(element) || element) === 'details'
      ? String(dom.has(dom.parentNode(element), 'open')) : said('expanded');
    if (open === 'true') found.push('expanded');
    if (open === 'false') found.push('collapsed');
    const current = said('current');
    if (current && current !== 'false') found.push('current');
    if (dom.matches(element, ':disabled') || disabled(element)) {
      found.push('disabled');
    }
    if (truthy(element, 'aria-readonly') || (dom.has(element, 'readonly') && tag !== 'select')) {
      found.push('readonly');
    }
    if (dom.has(element, 'required') || truthy(element, 'aria-required')) found.push('required');
    const bad = said('invalid');
    if ((bad && bad !== 'false') || (tag !== 'form' && dom.matches(element, ':user-invalid'))) {
      found.push('invalid');
    }
    if (['ascending', 'descending'].includes(said('sort'))) found.push(said('sort'));
    if (!found.some((word) => ['checked', 'selected', 'current', 'pressed'].includes(word))) {
      found.push(...visuals.classState(element, role === 'clickable'));
    }
    return found;
  };

  // -- fields ---------------------------------------------------------------------------
  const option = (one) => {
    const group = dom.closest(one, 'optgroup');
    const label = dom.clean(attr(one, 'label') || one.textContent || '').slice(0, 1000);
    room -= label.length + 40;
    const off = dom.matches(one, ':disabled') || (group && dom.has(group, 'disabled'));
    return [label, attr(one, 'value') ?? label, dom.flag(one, 'selected') ? 1 : 0, off ? 1 : 0,
      group ? dom.clean(attr(group, 'label') || '') : ''];
  };
  const choices = (element, tag) => {
    if (room < 0) return [];
    if (tag === 'select') return dom.query(element, 'option').slice(0, 1000).map(option);
    const list = tag === 'input' && attr(element, 'list')
      ? dom.query(element.getRootNode(), `#${CSS.escape(attr(element, 'list'))}`)[0] : null;
    return list ? dom.query(list, 'option').slice(0, 200).map(option) : [];
  };
  const lines = (text) => {
    room -= Math.min(text.length, VALUE_CHARS);
    return text.slice(0, VALUE_CHARS).replace(/\r/g, '');
  };
  const TICKED = ['checkbox', 'radio', 'button', 'submit', 'reset', 'image', 'file'];
  const kindOf = (element, tag) => {
    if (tag === 'select') return dom.has(element, 'multiple') ? 'multiple' : 'select';
    if (tag === 'textarea') return 'lines';
    return tag === 'input' ? (attr(element, 'type') || 'text').toLowerCase() : '';
  };
  const field = (element, tag, made) => {
    made.t = kindOf(element, tag);
    const secret = dom.isSecret(element);
    const value = TICKED.includes(made.t) || tag === 'select' ? '' : dom.value(element);
    if (value && made.t !== 'hidden') {
      if (secret) secrets.add(value);
      made.f = 1;
      made.v = secret ? null : lines(value);
    }
    if (made.t === 'file') {
      const files = Array.from(element.files || []).map((file) => file.name);
      if (files.length) made.v = files.join(', ');
    }
    if (['number', 'range', 'date', 'time', 'datetime-local', 'month', 'week'].includes(made.t)) {
      made.r = ['min', 'max', 'step'].map((key) => attr(element, key) || '');
    }
    const given = choices(element, tag);
    if (given.length) made.o = given;
  };
  const secrets = new Set();
  const measured = (element, made) => {
    const now = attr(element, 'aria-valuetext') || attr(element, 'aria-valuenow')
      || attr(element, 'value') || '';
    const most = attr(element, 'aria-valuemax') || attr(element, 'max') || '';
    if (now) made.v = most && most !== '100' ? `${now} of ${most}` : now;
  };
  // Editors of applications' own: lines as they were typed, and a field that nobody sees takes the
  // keys.
  const ownEditors = new Map();
  const isUnseen = (taker) => {
    const box = dom.rect(taker);
    return dom.rendered(taker) && (box.width < 6 || box.height < 6
      || Number(dom.style(taker).opacity) < 0.1);
  };
  const isLine = (element) => {
    const css = dom.style(element);
    return css.whiteSpace.startsWith('pre') && !css.display.startsWith('inline')
      && dom.rect(element).height > 0;
  };
  const linesWithin = (element) => {
    const all = dom.query(element, 'div, p, pre, li, code').slice(0, EDITOR_LINES_MOST).filter(isLine);
    return all.filter((one) => !all.some((other) => other !== one && sight.contains(one, other)
      && dom.rect(other).height > 0));
  };
  const findOwnEditors = () => {
    for (const taker of dom.query(document, 'textarea').slice(0, 40).filter(isUnseen)) {
      let at = dom.parent(taker);
      for (let depth = 0; at && depth < EDITOR_LEVELS && dom.tag(at) !== 'body'; depth += 1) {
        const found = visuals.isEditor(at) ? [] : linesWithin(at);
        if (found.length) ownEditors.set(at, found);
        if (found.length || visuals.isEditor(at)) break;
        at = dom.parent(at);
      }
    }
  };
  const richText = (element) => lines(visuals.richText(element)).trim();

  // -- what can be pressed --------------------------------------------------------------
  const HANDLERS = ['onclick', 'onmousedown', 'onmouseup', 'onpointerdown', 'onpointerup',
    'ondblclick', 'ontouchstart'];
  const order = new Map();
  const listens = (element) => listening.size > 0 && listening.has(order.get(element));
  const handles = (element) => HANDLERS.some((name) => dom.has(element, name));
  const reached = (element) => dom.has(element, 'tabindex') && Number(attr(element, 'tabindex')) >= 0;
  const pressedBy = (element, tag, css, ctx) => {
    if (['html', 'body', 'label'].includes(tag) || inert(element)) return '';
    if (handles(element)) return 'handler';
    if (tag === 'summary') return 'handler';
    if (css.cursor === 'pointer' && !ctx.pointer) return 'pointer';
    if (listens(element)) return 'listener';
    return reached(element) ? 'tabindex' : '';
  };
  const measure = (items) => {
    const seen = { controls: 0, text: 0, own: 0, pictures: 0 };
    const count = (list, inside) => {
      for (const item of list) {
        if (typeof item === 'string') {
          if (words(item)) {
            seen.text += item.trim().length;
            if (!inside) seen.own += item.trim().length;
          }
        } else if (item && item.i !== undefined) {
          seen.controls += 1;
          count(item.k || [], true);
        } else if (item) {
          if (item.role === 'img') seen.pictures += 1;
          count(item.k || [], inside);
        }
      }
    };
    count(items, false);
    return seen;
  };
  // A region that only holds controls is none itself; one that holds much is no single place.
  const isRegion = (element, by, items, role) => {
    const seen = measure(items);
    const box = dom.rect(element);
    const screen = window.innerWidth * window.innerHeight;
    if (seen.controls && !seen.own && !seen.pictures) return false;
    if (!seen.text && !seen.pictures && box.width * box.height > screen / 2) return false;
    if (seen.text > REGION_CHARS || seen.controls > REGION_CONTROLS) return false;
    if (by === 'pointer' || by === 'handler') return true;
    const row = ROWS.has(role) || ['tr', 'li'].includes(dom.tag(element));
    return seen.controls <= (row ? 3 : 0) && seen.text <= 300
      && (by === 'listener' || !['tabpanel', 'dialog', 'region', 'main', 'heading'].includes(role));
  };
  const handle = (element) => {
    const id = attr(element, 'id');
    if (id) return /^[A-Za-z][\w-]*$/.test(id) ? `#${id}` : `[id=${JSON.stringify(id)}]`;
    if (attr(element, 'name')) return `[name=${JSON.stringify(attr(element, 'name'))}]`;
    const first = dom.clean(attr(element, 'class') || '').split(' ').filter(Boolean);
    return first.length ? first.slice(0, 2).map((word) => `.${CSS.escape(word)}`).join('') : '';
  };

  // -- the walk -------------------------------------------------------------------------
  const unread = longLists.unread(rows);
  const keep = (element, made) => {
    made.i = elements.length;
    elements.push(element);
    judged.push([element, made]);
    const note = noted && element[noted];
    if (note && typeof note.ref === 'string') made.ref = note.ref;
    return made;
  };
  const block = (css, element) => css.display !== 'contents' && (!css.display.startsWith('inline')
    || css.display !== 'inline' && !dom.hollow(element));
  const gap = (css) => css.display === 'inline' && ['marginLeft', 'marginRight', 'paddingLeft',
    'paddingRight'].some((side) => parseFloat(css[side]) > 2);
  const scrolled = (element, css, made) => {
    const hidden = visuals.scrolled(element, css);
    if (hidden) made.sc = hidden;
  };
  const pushText = (node, into, ctx) => {
    let text = (dom.nodeValue(node) || '').slice(0, TEXT_CHARS);
    if (!text) return;
    room -= text.length;
    if (ctx.row && ctx.row.w === undefined && words(text)) ctx.row.w = ctx.weight;
    if (ctx.pre && /\n/.test(text)) {
      for (const line of text.split('\n')) into.push(line, 0);
      return;
    }
    text = text.replace(/[\u200b\ufeff\u00ad]/g, '');
    if (text) into.push(text);
  };
  const inside = (element, into, ctx, depth) => {
    const kids = dom.children(element);
    const leaf = !(element instanceof SVGElement) && !kids.some((kid) => dom.isElement(kid));
    const before = leaf ? aria.pseudo(element, '::before') : '';
    if (words(before)) into.push(before);
    for (const kid of kids) {
      const missing = unread.get(kid);
      if (missing === undefined) visit(kid, into, ctx, depth + 1);
      else if (missing) into.push({ role: 'unread', v: String(missing), t: longLists.kindOf(kid) });
    }
    const after = leaf ? aria.pseudo(element, '::after') : '';
    if (words(after)) into.push(after);
  };
  const hiddenTick = (label) => {
    const control = label.control;
    if (!control || !dom.isElement(control)) return null;
    const type = dom.tag(control) === 'input' ? attr(control, 'type') : '';
    return ['checkbox', 'radio', 'file'].includes(type) && !dom.rendered(control) ? control : null;
  };
  const labelOf = (element) => Array.from(element.labels || []).find((label) => dom.visible(label));
  const asControl = (element, tag, role, css, ctx, depth) => {
    const made = keep(element, { role, n: nameOf(element, role), s: states(element, role, tag) });
    if (['input', 'textarea', 'select'].includes(tag)) field(element, tag, made);
    const hint = dom.clean(attr(element, 'placeholder') || attr(element, 'aria-placeholder') || '');
    if (hint) made.p = hint;
    if (role === 'slider' && made.v === undefined) measured(element, made);
    if (role === 'link') made.u = (attr(element, 'href') || '').slice(0, 2000);
    if (!made.n) made.h = handle(element) || (labelOf(element) ? handle(labelOf(element)) : '');
    if (dom.editable(element)) {
      made.t = 'rich';
      const text = richText(element);
      if (text) made.v = lines(text);
      if (text) made.f = 1;
      return made;
    }
    if (['input', 'textarea', 'select'].includes(tag)) return made;
    const title = dom.clean(attr(element, 'title') || '');
    if (title && title !== made.n && !made.n) made.ti = title;
    const kids = [];
    inside(element, kids, { ...ctx, pointer: true, row: ROWS.has(role) ? made : ctx.row,
      whole: WHOLE.has(role) }, depth);
    made.k = kids;
    if (depth > NESTED) {
      made.k = [];
      made.up = kids;
    }
    scrolled(element, css, made);
    return made;
  };
  const asEditor = (element) => {
    const inner = visuals.editorField(element);
    const made = keep(inner, { role: 'textbox', n: nameOf(inner, 'textbox'), s: [], t: 'rich' });
    made.v = lines(visuals.editorText(element, ownEditors.get(element)));
    made.f = made.v ? 1 : 0;
    // Its field is tiny and moves with the cursor, so what covers the editor counts.
    judged.pop();
    judged.push([element, made]);
    if (!made.n) made.h = handle(element);
    return made;
  };
  const asFrame = (element, css) => {
    const made = keep(element, { role: 'iframe', s: [],
      n: dom.clean(attr(element, 'title') || attr(element, 'aria-label') || attr(element, 'name') || ''),
      src: String(element.src || ''), fn: attr(element, 'name') || '' });
    if (!made.n) made.h = handle(element);
    return css.visibility === 'visible' ? made : null;
  };
  const asLabel = (label, control, ctx, depth) => {
    const type = attr(control, 'type');
    const role = type === 'file' ? 'button' : type;
    const made = keep(label, { role, n: dom.clean(aria.content(label, null)), t: type,
      s: [...states(control, role, 'input'), 'by label'] });
    const kids = [];
    inside(label, kids, ctx, depth);
    made.k = kids;
    return made;
  };
  const asHiddenFile = (element) => keep(element, { role: 'button', t: 'file', x: 'not visible',
    n: aria.name(element, 'button'), s: states(element, 'button', 'input'), h: handle(element) });
  const clickable = (element, role, tag, by, kids) => {
    const made = keep(element, { role: 'clickable', n: '', s: states(element, 'clickable', tag), k: kids });
    const label = dom.clean(attr(element, 'aria-label') || '');
    const title = dom.clean(attr(element, 'title') || '');
    if (label) made.la = label;
    else if (title) made.ti = title;
    if (!measure(kids).text) made.h = handle(element);
    if (tag === 'a') made.t = 'a';
    return made;
  };
  const structured = (element, role, tag, css, kids) => {
    const made = { role, k: kids };
    const name = nameOf(element, role);
    if (name) made.n = name;
    const said = role === 'generic' ? [] : states(element, role, tag).filter((word) => word !== 'disabled');
    if (said.length) made.s = said;
    if (role === 'progressbar' || role === 'meter') measured(element, made);
    scrolled(element, css, made);
    return made;
  };

  // Parts of the page under which the mouse shows controls that are hidden now.
  const overs = new Set();
  let hiddenParts = 0;
  const PRESSABLE = 'button, a[href], input, select, textarea, summary, [role=button], [role=link], '
    + '[role=menuitem], [onclick], [tabindex]';
  const isRow = (element) => ['tr', 'li', 'article'].includes(dom.tag(element))
    || ROWS.has(attr(element, 'role'));
  const hears = (element) => entering.size > 0 && entering.has(order.get(element));
  // What listens to the mouse may show what is hidden in it; for a whole list, in a row of it.
  const listenerOver = (element) => {
    let row = null;
    for (let at = dom.parent(element), step = 0; at && step < OVER_LEVELS; at = dom.parent(at), step += 1) {
      row = row || (isRow(at) ? at : null);
      if (hears(at)) {
        const box = dom.rect(at);
        return row || (box.height * 2 > window.innerHeight ? null : at);
      }
    }
    return null;
  };
  const noteHidden = (element) => {
    if (hiddenParts >= HIDDEN_PARTS || overs.has(dom.parent(element))) return;
    if (!dom.matches(element, PRESSABLE) && !dom.query(element, PRESSABLE).length) return;
    hiddenParts += 1;
    const over = hovering.shownOver(element) || (entering.size ? listenerOver(element) : null);
    if (over && !['html', 'body'].includes(dom.tag(over))) overs.add(over);
  };
  const MORE = 'more on hover';
  const onlyControl = (kids) => {
    const found = kids.filter((kid) => kid && (typeof kid === 'object' || words(kid)));
    if (found.length !== 1 || typeof found[0] !== 'object') return null;
    return found[0].i !== undefined ? found[0] : onlyControl(found[0].k || []);
  };

  const visitElement = (element, into, ctx, depth) => {
    const tag = dom.tag(element);
    if (tag === 'br') into.push(ctx.whole ? ' ' : 0);
    if (SKIPPED.has(tag)) return;
    const drawn = SHAPES.has(tag) && !handles(element) && !listens(element)
      && !dom.has(element, 'role') && !dom.has(element, 'tabindex');
    if (drawn) return;
    const css = dom.style(element);
    const hiddenFile = tag === 'input' && attr(element, 'type') === 'file' && css.display === 'none'
      && !Array.from(element.labels || []).some((label) => dom.visible(label))
      && !dom.matches(element, ':disabled');
    if (hiddenFile) into.push(asHiddenFile(element));
    const shown = css.visibility === 'visible';
    if (css.display === 'none' || (!shown && ctx.shown)) noteHidden(element);
    if (css.display === 'none' || css.contentVisibility === 'hidden') return;
    if (tag === 'input' && attr(element, 'type') === 'hidden') return;
    const gone = sight.about(element, css).gone;
    const role = roleOf(element, tag);
    const border = block(css, element);
    // A block within a line ends a text, too, but the next one goes on in that line.
    const end = css.display.startsWith('inline') ? '' : 0;
    if (border) into.push(end);
    else if (gap(css)) into.push(' ');
    const made = shown ? special(element, tag, role, css, ctx, depth) : null;
    if (made) {
      into.push(made, ...(made.up || []));
      delete made.up;
    } else if (made === null) plain(element, tag, role, css, into, { ...ctx, gone, shown }, depth);
    if (border) into.push(end);
    else if (gap(css)) into.push(' ');
  };
  // Returns what acts as one element; null for all others, false for what is not shown at all.
  const special = (element, tag, role, css, ctx, depth) => {
    if (tag === 'iframe' || tag === 'frame') return asFrame(element, css) || false;
    const empty = dom.hollow(element) && !dom.visible(element);
    if (empty && tag === 'input' && labelOf(element)) {
      return asControl(element, tag, role, css, ctx, depth);
    }
    if (empty) return CONTROLS.has(role) || tag === 'img' || tag === 'svg' ? false : null;
    if (visuals.isEditor(element) || ownEditors.has(element)) return asEditor(element);
    if (truthy(element, 'aria-hidden') && ['input', 'textarea', 'select'].includes(tag)
      && Number(css.opacity) < 0.1) return false;
    if (inert(element)) return null;
    if (CONTROLS.has(role)) return asControl(element, tag, role, css, ctx, depth);
    if (dom.editable(element)) return asControl(element, tag, 'textbox', css, ctx, depth);
    const tick = tag === 'label' ? hiddenTick(element) : null;
    if (tick) return asLabel(element, tick, ctx, depth);
    if (role === 'img' && tag !== 'svg' && !dom.has(element, 'onclick')) {
      const name = nameOf(element, role) || dom.clean(attr(element, 'title') || '');
      const by = pressedBy(element, tag, css, ctx);
      const picture = { role: 'img', n: name };
      if (by) return clickable(element, role, tag, by, name ? [picture] : []);
      return name ? picture : false;
    }
    return null;
  };
  const pushScrollable = (element, tag, css, kids, into, ctx) => {
    const box = {};
    if (!ctx.gone && ctx.shown && tag !== 'body' && tag !== 'html') scrolled(element, css, box);
    const n = box.sc ? aria.name(element, 'region').slice(0, NAME_CHARS) : '';
    if (!box.sc || !(kids.some(Boolean) || n)) return false;
    into.push(keep(element, { role: 'scrollable', n, h: n ? '' : handle(element), k: kids, ...box }));
    return true;
  };
  const plain = (element, tag, role, css, into, ctx, depth) => {
    const by = ctx.shown && !ctx.whole ? pressedBy(element, tag, css, ctx) : '';
    const kids = [];
    // What heads a row or a column is bold by nature.
    const heads = ['columnheader', 'rowheader'].includes(role) || tag === 'th';
    const row = heads ? null : ROWS.has(role) || by ? {} : ctx.row;
    const own = { ...ctx, pointer: css.cursor === 'pointer' || (ctx.pointer && css.cursor !== 'auto'),
      row, pre: css.whiteSpace.startsWith('pre'), weight: Number(css.fontWeight) };
    inside(element, kids, own, depth);
    if (depth > NESTED && kids.some((kid) => kid && typeof kid === 'object')) {
      into.push(...kids);
      return;
    }
    // What a row's own listener shows may not be in the page before.
    if (ctx.shown && hears(element) && (ROWS.has(role) || isRow(element))) overs.add(element);
    const alone = overs.has(element) ? onlyControl(kids) : null;
    if (alone) {
      alone.s = [...(alone.s || []), MORE];
      overs.delete(element);
    }
    const empty = !kids.some((kid) => typeof kid === 'object' || (kid && words(kid)));
    const region = by && isRegion(element, by, kids, role);
    // Whoever scrolls by keyboard has to reach the box; that presses nothing.
    if (by === 'tabindex' && !STRUCTURE.has(role) && pushScrollable(element, tag, css, kids, into, ctx)) {
      return;
    }
    const hidden = (region || empty) && !dom.visible(element) && css.display !== 'contents';
    if (region && !(empty && hidden)) {
      if (role === 'row' || role === 'listitem') {
        const made = keep(element, { ...structured(element, role, tag, css, kids), c: 1 });
        if (overs.has(element)) made.s = [...(made.s || []), MORE];
        if (row && row.w >= 600) made.b = 1;
        into.push(made);
        return;
      }
      const made = clickable(element, role, tag, by, kids);
      scrolled(element, css, made);
      if (overs.has(element)) made.s.push(MORE);
      if (row && row.w >= 600) made.b = 1;
      if (['cell', 'gridcell', 'columnheader', 'rowheader'].includes(role)) {
        into.push({ role, k: [made] });
      } else into.push(made);
      return;
    }
    if (empty && !STRUCTURE.has(role) && pushScrollable(element, tag, css, kids, into, ctx)) return;
    if (ctx.shown && empty && !hidden && !ctx.gone) {
      const title = visuals.title(element, tag);
      if (title && words(title)) {
        into.push({ role: 'img', n: title, v: dom.clean(kids.filter(Boolean).join(' ')) });
        return;
      }
      if (role === 'img') return;
    }
    if (overs.has(element) && ctx.shown && !ctx.gone && dom.visible(element)) {
      const made = keep(element, structured(element, STRUCTURE.has(role) ? role : 'hoverable', tag, css, kids));
      made.s = [...(made.s || []), MORE];
      if (!measure(kids).text) made.h = handle(element);
      if (ROWS.has(role) && row && row.w >= 600) made.b = 1;
      into.push(made);
      return;
    }
    if (STRUCTURE.has(role) && !ctx.gone) {
      const made = structured(element, role, tag, css, kids);
      if (made.sc) keep(element, made);
      if (ROWS.has(role) && row && row.w >= 600) made.b = 1;
      if (sight.front() === element) made.front = 1;
      into.push(made);
      return;
    }
    if (pushScrollable(element, tag, css, kids, into, ctx)) return;
    if (sight.front() === element) {
      into.push({ role: role || 'layer', k: kids, front: 1 });
      return;
    }
    const parts = kids.filter((kid) => kid && (typeof kid === 'object' || kid.trim()));
    const group = parts.length > 1 && parts.some((kid) => typeof kid === 'object');
    if (group && tag !== 'body' && block(css, element)) into.push({ role: '', k: kids });
    else into.push(...kids);
  };
  const visit = (node, into, ctx, depth) => {
    if (depth > DEPTH || late()) return;
    if (dom.nodeType(node) === 3) {
      if (ctx.shown && !ctx.gone) pushText(node, into, ctx);
    } else if (dom.isElement(node)) visitElement(node, into, ctx, depth);
  };

  if (listening.size || entering.size || framed.length) {
    let index = 0;
    const roots = [document];
    for (let at = 0; at < roots.length && index < 100000; at += 1) {
      for (const element of dom.query(roots[at], '*')) {
        order.set(element, index);
        index += 1;
        if (dom.shadow(element)) roots.push(dom.shadow(element));
      }
    }
    // Of frames with one address, only their number of elements tells which is which.
    const fitting = framed.filter((one) => one.size === index);
    const inEach = (kind) => (fitting.length
      ? fitting[0][kind].filter((at) => fitting.every((one) => one[kind].includes(at))) : []);
    inEach('found').forEach((at) => listening.add(at));
    inEach('over').forEach((at) => entering.add(at));
  }
  findOwnEditors();
  const tree = [];
  const ctx = { pointer: false, row: null, whole: false, pre: false, weight: 400, shown: true, gone: '' };
  if (document.body) visit(document.body, tree, ctx, 0);
  const layers = [];
  for (const [element, made] of judged) {
    made.x ??= spent() > milliseconds ? '' : sight.judged(element);
  }
  for (const [element, made] of judged) {
    const said = sight.settled(element, made.x);
    const over = said === 'covered' ? sight.layerOver(element) : null;
    if (over) {
      if (!layers.includes(over)) layers.push(over);
      made.ly = layers.indexOf(over);
    }
    made.x = said;
  }
  const named = layers.map((layer) => aria.name(layer, 'dialog')
    || dom.clean(layer.innerText || '').slice(0, 40));
  const told = { tree, layers: named, secrets: Array.from(secrets), overlaid: sight.overlaid(), full,
    unread: unread.size };
  return { elements, json: dom.stringify(told) };
}
