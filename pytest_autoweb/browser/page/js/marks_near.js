// Returns the texts around elements that share their own text with others, nearest first, because
// people distinguish such elements by their surroundings. arg: groups of indexes of such elements.
({ dom, elements: made }, groups) => {
  const NODES = 30000;
  const PIECES = 20;
  const BESIDE = 12;
  const CHARS = 400;
  const STEPS = 300;
  const UNREAD = new Set(['script', 'style', 'noscript', 'template', 'select', 'textarea', 'head',
    'svg', 'canvas', 'video', 'audio']);
  const HEADINGS = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'legend', 'caption']);
  const WHOLE = new Set(['html', 'body', 'main']);
  const ROWS = new Set(['tr', 'li', 'article']);
  const isRow = (element) => ROWS.has(dom.tag(element))
    || ['row', 'listitem', 'article'].includes(dom.attr(element, 'role'));
  const isHeading = (element) => HEADINGS.has(dom.tag(element))
    || dom.attr(element, 'role') === 'heading';
  // A frame that belongs to another origin, or is no frame, contains nothing that can be read.
  const rootIn = (element) => {
    try {
      return ['iframe', 'frame'].includes(dom.tag(element)) && element.contentDocument
        ? element.contentDocument.documentElement : null;
    } catch {
      return null;
    }
  };

  // The page in rendered order: the start and end of each element, and its texts. A frame contains
  // its document as an element contains its children, so that a heading above it is found.
  const book = { begin: new Map(), end: new Map(), texts: [], headings: [], frames: new Map() };
  let at = 0;
  const walk = (node, depth) => {
    if (at > NODES || depth > 300) return;
    at += 1;
    if (dom.nodeType(node) === 3) {
      if (dom.nodeValue(node).trim()) book.texts.push({ node, at });
      return;
    }
    if (!dom.isElement(node)) return;
    book.begin.set(node, at);
    const inner = rootIn(node);
    if (inner) {
      book.frames.set(inner, node);
      if (dom.visible(node)) walk(inner, depth + 1);
    } else if (!UNREAD.has(dom.tag(node))) {
      if (isHeading(node)) book.headings.push(node);
      for (const child of dom.children(node)) walk(child, depth + 1);
    }
    at += 1;
    book.end.set(node, at);
  };
  walk(document.documentElement, 0);
  const parent = (node) => dom.parent(node) || book.frames.get(node) || null;
  const frameOf = (element) => book.frames.get(element.ownerDocument.documentElement) || null;
  const holds = (outer, place) => place >= book.begin.get(outer) && place <= book.end.get(outer);

  const seen = new Map();
  const isSeen = (element) => {
    if (!seen.has(element)) seen.set(element, dom.visible(element));
    return seen.get(element);
  };
  const blocks = new Map();
  const blockOf = (element) => {
    if (!blocks.has(element)) {
      const above = dom.parent(element);
      const inline = above && ['inline', 'contents'].includes(dom.style(element).display);
      blocks.set(element, inline ? blockOf(above) : element);
    }
    return blocks.get(element);
  };
  const headingOf = (element) => {
    for (let up = element; up; up = dom.parent(up)) if (isHeading(up)) return up;
    return null;
  };
  // Returns the index of the first text at or after a position.
  const from = (place) => {
    let low = 0;
    for (let high = book.texts.length; low < high;) {
      const middle = (low + high) >> 1;
      if (book.texts[middle].at < place) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const legible = (text) => {
    const above = dom.parent(text.node);
    return above && isSeen(above);
  };
  // Adjacent texts in one block form one piece unless something marked stands between them.
  const joined = (texts, breaks) => {
    const pieces = [];
    for (const text of texts.filter(legible)) {
      const block = blockOf(dom.parent(text.node));
      const last = pieces[pieces.length - 1];
      if (last && last.block === block && !breaks.some((mark) => mark > last.at && mark < text.at)) {
        last.words += dom.nodeValue(text.node);
        last.at = text.at;
      } else pieces.push({ block, words: dom.nodeValue(text.node), at: text.at, node: text.node });
    }
    return pieces.map((piece) => ({ ...piece, words: dom.clean(piece.words).slice(0, CHARS) }))
      .filter((piece) => piece.words);
  };

  const around = (group) => {
    const all = group.map((index) => ({ element: made.elements[index] }));
    const known = all.filter((one) => book.begin.has(one.element));
    const breaks = known.map((one) => book.begin.get(one.element));
    for (const one of known) {
      const { element } = one;
      one.breaks = breaks;
      one.others = known.filter((other) => other !== one);
      const free = (outer) => !one.others.some(
        (other) => holds(outer, book.begin.get(other.element)));
      one.chain = [element];
      for (let up = parent(element); up && book.begin.has(up) && free(up); up = parent(up)) {
        one.chain.push(up);
      }
      one.part = one.chain[one.chain.length - 1];
    }
    for (const one of known) {
      one.own = inside(one);
      [one.before, one.after] = [beside(one, -1), beside(one, 1)];
    }
    return all.map((one) => (one.chain ? pieces(one, known) : []));
  };
  // Returns the other texts in the element's own part of the page, from the inside out.
  const inside = ({ chain, breaks }) => {
    const found = [];
    for (let level = 1; level < chain.length && found.length < PIECES; level += 1) {
      found.push(...within(chain[level], chain[level - 1], breaks));
    }
    return found.slice(0, PIECES);
  };
  // Returns the texts of one element before and after another one in it, without those that belong
  // to some others.
  const within = (outer, inner, breaks, others = []) => {
    const first = from(book.begin.get(outer));
    const last = from(book.end.get(outer));
    const middle = [from(book.begin.get(inner)), from(book.end.get(inner))];
    const free = (text) => !others.some((other) => holds(other.part, text.at));
    const before = book.texts.slice(Math.max(first, middle[0] - STEPS), middle[0]).filter(free);
    const after = book.texts.slice(middle[1], Math.min(last, middle[1] + STEPS)).filter(free);
    return [...joined(before, breaks).slice(-BESIDE), ...joined(after, breaks).slice(0, BESIDE)];
  };
  // Returns the next text in one direction that is outside every part that belongs to an element.
  const beside = ({ part, others, breaks }, way) => {
    const start = from(way < 0 ? book.begin.get(part) : book.end.get(part));
    const texts = [];
    for (let step = 0, index = way < 0 ? start - 1 : start; step < STEPS; step += 1, index += way) {
      const text = book.texts[index];
      if (!text) break;
      const taken = others.some((other) => holds(other.part, text.at));
      if (taken || !legible(text)) continue;
      const piece = joined(way < 0 ? [text, ...texts] : [...texts, text], breaks);
      if (piece.length > 1) break;
      if (way < 0) texts.unshift(text);
      else texts.push(text);
    }
    const [piece] = joined(texts, breaks);
    return piece && !(way > 0 && headingOf(dom.parent(piece.node))) ? piece : null;
  };
  // Returns the texts of the row that an element shares with some of the others, as icons do. For
  // an element without texts of its own, any part of the page with text counts as a row that does
  // not hold all of them.
  const rowOf = ({ part, own, breaks, others }, known) => {
    for (let outer = parent(part); outer; outer = parent(outer)) {
      if (WHOLE.has(dom.tag(outer)) || !book.begin.has(outer)) return [];
      if (known.every((other) => holds(outer, book.begin.get(other.element)))) return [];
      const found = own.length && !isRow(outer) ? [] : within(outer, part, breaks, others);
      if (found.length) return found.slice(0, PIECES);
    }
    return [];
  };
  const pieces = (one, known) => {
    const { element, own, before, after, part, others } = one;
    // The heading above the element, and the one above each frame that it is in.
    const headings = [];
    for (let inner = element; inner; inner = frameOf(inner)) {
      const place = book.begin.get(inner);
      headings.push(book.headings.filter((head) => book.begin.get(head) < place && isSeen(head)
        && (holds(part, book.begin.get(head))
          || !others.some((other) => holds(other.part, book.begin.get(head))))).pop());
    }
    const found = [...own];
    if (!own.length) found.push(...nearer(element, before, after));
    // A text before several elements belongs to all of them.
    else if (before && known.some((other) => !other.own.length && other.before
      && other.before.node === before.node)) found.push(before);
    found.push(...rowOf(one, known));
    const words = found.map((piece) => piece.words);
    for (const heading of headings.filter(Boolean)) {
      words.push(dom.clean(heading.innerText || heading.textContent || '').slice(0, CHARS));
    }
    return Array.from(new Set(words.filter(Boolean)));
  };
  // Prefers texts before and after that are in the same line, then the one before, then the other.
  const nearer = (element, before, after) => {
    const both = [before, after].filter(Boolean);
    const box = dom.rect(element);
    const inLine = both.filter(({ node }) => {
      // Boxes of two documents cannot be compared.
      if (node.ownerDocument !== element.ownerDocument) return false;
      const range = Document.prototype.createRange.call(node.ownerDocument);
      range.selectNodeContents(node);
      const r = range.getBoundingClientRect();
      const common = Math.min(r.bottom, box.bottom) - Math.max(r.top, box.top);
      return common >= 0.5 * Math.min(r.height, box.height);
    });
    return inLine.length ? inLine : both.slice(0, 1);
  };
  return groups.map(around);
}
