// Tells which rows of long lists are not read. A listing shows the head and the tail of such a list,
// or a stretch that was asked for, and reading each row of a very long one takes seconds.
(dom) => {
  const SMALL = 3000;
  const LONG = 150;
  const FEWEST = 50;
  const HEAD_SHARE = 0.8;
  // What a line has besides the text of its row: its role, the bars between cells, the roles of
  // controls with their numbers.
  const ROW_CHARS = 6;
  const CELL_CHARS = 3;
  const CONTROL_CHARS = 20;
  const CONTROL = 'a[href], button, input, select, textarea, [onclick], [role]';
  const CHOSEN = new Set(['select', 'datalist', 'optgroup']);
  const ROWS = { tr: 'row', li: 'listitem' };
  const kindOf = (row) => dom.attr(row, 'role') || ROWS[dom.tag(row)] || '';

  const isLong = (element) => {
    const rows = element.children;
    if (!(rows.length > LONG) || CHOSEN.has(dom.tag(element)) || dom.shadow(element)) return false;
    const tag = dom.tag(rows[0]);
    return [1, 2, 3].every((part) => dom.tag(rows[Math.floor((part * rows.length) / 4)]) === tag);
  };
  // The long lists of a document that is large itself.
  const found = () => {
    const { body } = document;
    const all = body && document.contentType === 'text/html' ? dom.query(body, '*') : [];
    return all.length < SMALL ? [] : all.filter(isLong);
  };

  const expected = (row) => (row.textContent || '').length + ROW_CHARS
    + CELL_CHARS * row.children.length + CONTROL_CHARS * dom.query(row, CONTROL).length;
  const fitting = (rows, chars) => {
    let room = chars;
    const past = rows.findIndex((row) => {
      room -= expected(row);
      return room < 0;
    });
    return past < 0 ? rows.length : past + 1;
  };
  const notRead = (list, { chars, first }, into) => {
    const kids = Array.from(list.children);
    const kind = kindOf(kids[0]);
    if (!['row', 'listitem'].includes(kind)) return;
    const rows = kids.filter((kid) => dom.rendered(kid));
    if (rows.length < LONG || !rows.every((row) => kindOf(row) === kind)) return;
    const head = fitting(rows, chars * HEAD_SHARE);
    const tail = rows.length - fitting([...rows].reverse(), chars * (1 - HEAD_SHARE));
    const from = first ? Math.max(0, first - 2) : head;
    const to = first ? from + fitting(rows.slice(from), chars) : head;
    const gaps = [[head, Math.min(from, tail)], [Math.max(head, to), tail]];
    for (const [begin, end] of gaps) {
      if (end - begin < FEWEST) continue;
      for (let at = begin; at < end; at += 1) into.set(rows[at], at === begin ? end - begin : 0);
    }
  };
  // Returns the rows that are not read: the first of each gap with the length of the gap, the
  // others with 0. Without a request all rows are read.
  const unread = (asked) => {
    const into = new Map();
    if (asked) for (const list of found()) notRead(list, asked, into);
    return into;
  };
  return { unread, kindOf };
}
