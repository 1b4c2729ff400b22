// Returns the texts around elements that share their own text with others, nearest first, because
// people distinguish such elements by their surroundings. arg: groups of indexes of such elements.
({ dom, elements: made }, groups) => {
  const NODES = 30000;
  const PIECES = 10;
  const CHARS = 400;
  const STEPS = 300;
  const UNREAD = new Set(['script', 'style', 'noscript', 'template', 'select', 'textarea', 'head',
    'iframe', 'svg']);
  const HEADINGS = new Set(['h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'legend', 'caption']);
  const isHeading = (element) => HEADINGS.has(dom.tag(element))
    || dom.attr(element, 'role') === 'heading';

  // A document in rendered order: the start and end of each element, and its texts.
  const books = new Map();
  const bookOf = (owner) => {
    if (books.has(owner)) return books.get(owner);
    const book = { begin: new Map(), end: new Map(), texts: [], headings: [] };
    books.set(owner, book);
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
      if (!UNREAD.has(dom.tag(node))) {
        if (isHeading(node)) book.headings.push(node);
        for (const child of dom.children(node)) walk(child, depth + 1);
      }
      at += 1;
      book.end.set(node, at);
    };
    walk(owner.documentElement, 0);
    return book;
  };
  const holds = (book, outer, at) => at >= book.begin.get(outer) && at <= book.end.get(outer);

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
  const from = (book, at) => {
    let low = 0;
    for (let high = book.texts.length; low < high;) {
      const middle = (low + high) >> 1;
      if (book.texts[middle].at < at) low = middle + 1;
      else high = middle;
    }
    return low;
  };
  const legible = (text) => {
    const above = dom.parent(text.node);
    return above && isSeen(above);
  };
  // Adjacent texts in one block form one piece unless something marked stands between them.
  const joined = (book, texts, breaks) => {
    const pieces = [];
    for (const text of texts.filter(legible)) {
      const block = blockOf(dom.parent(text.node));
      const last = pieces[pieces.length - 1];
      if (last && last.block === block && !breaks.some((at) => at > last.at && at < text.at)) {
        last.words += dom.nodeValue(text.node);
        last.at = text.at;
      } else pieces.push({ block, words: dom.nodeValue(text.node), at: text.at, node: text.node });
    }
    return pieces.map((piece) => ({ ...piece, words: dom.clean(piece.words).slice(0, CHARS) }))
      .filter((piece) => piece.words);
  };

  const around = (group) => {
    const all = group.map((index) => {
      const element = made.elements[index];
      return { element, owner: element.ownerDocument };
    });
    for (const one of all) one.book = bookOf(one.owner);
    const known = all.filter((one) => one.book.begin.has(one.element));
    for (const one of known) {
      const { book, element } = one;
      one.others = known.filter((other) => other !== one && other.book === book);
      const free = (outer) => !one.others.some(
        (other) => holds(book, outer, book.begin.get(other.element)));
      one.chain = [element];
      for (let up = dom.parent(element); up && book.begin.has(up) && free(up); up = dom.parent(up)) {
        one.chain.push(up);
      }
      one.part = one.chain[one.chain.length - 1];
    }
    for (const one of known) {
      one.breaks = known.filter((other) => other.book === one.book)
        .map((other) => one.book.begin.get(other.element));
      one.own = inside(one);
      [one.before, one.after] = [beside(one, -1), beside(one, 1)];
    }
    return all.map((one) => (one.chain ? pieces(one, known) : []));
  };
  // Returns the other texts in the element's own part of the page, from the inside out.
  const inside = ({ book, chain, breaks }) => {
    const found = [];
    for (let level = 1; level < chain.length && found.length < PIECES; level += 1) {
      const inner = chain[level - 1];
      const first = from(book, book.begin.get(chain[level]));
      const last = from(book, book.end.get(chain[level]));
      const middle = [from(book, book.begin.get(inner)), from(book, book.end.get(inner))];
      const before = book.texts.slice(Math.max(first, middle[0] - STEPS), middle[0]);
      const after = book.texts.slice(middle[1], Math.min(last, middle[1] + STEPS));
      found.push(...joined(book, before, breaks).slice(-6), ...joined(book, after, breaks).slice(0, 6));
    }
    return found.slice(0, PIECES);
  };
  // Returns the next text in one direction that is outside every part that belongs to an element.
  const beside = ({ book, part, others, breaks }, way) => {
    const start = from(book, way < 0 ? book.begin.get(part) : book.end.get(part));
    const texts = [];
    for (let step = 0, index = way < 0 ? start - 1 : start; step < STEPS; step += 1, index += way) {
      const text = book.texts[index];
      if (!text) break;
      const taken = others.some((other) => holds(book, other.part, text.at));
      if (taken || !legible(text)) continue;
      const piece = joined(book, way < 0 ? [text, ...texts] : [...texts, text], breaks);
      if (piece.length > 1) break;
      if (way < 0) texts.unshift(text);
      else texts.push(text);
    }
    const [piece] = joined(book, texts, breaks);
    return piece && !(way > 0 && headingOf(dom.parent(piece.node))) ? piece : null;
  };
  const pieces = (one, known) => {
    const { book, element, own, before, after, part, others } = one;
    const at = book.begin.get(element);
    const heading = book.headings.filter((head) => book.begin.get(head) < at && isSeen(head)
      && (holds(book, part, book.begin.get(head))
        || !others.some((other) => holds(book, other.part, book.begin.get(head))))).pop();
    const found = [...own];
    if (!own.length) found.push(...nearer(element, before, after));
    // A text before several elements belongs to all of them.
    else if (before && known.some((other) => !other.own.length && other.before
      && other.before.node === before.node)) found.push(before);
    const words = found.map((piece) => piece.words);
    if (heading) words.push(dom.clean(heading.innerText || heading.textContent || '').slice(0, CHARS));
    return Array.from(new Set(words.filter(Boolean)));
  };
  // Prefers texts before and after that are in the same line, then the one before, then the other.
  const nearer = (element, before, after) => {
    const both = [before, after].filter(Boolean);
    const box = dom.rect(element);
    const inLine = both.filter(({ node }) => {
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
