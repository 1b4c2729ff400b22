// Lets siblings whose order means nothing change places, once in each group: entries of menus and lists, tabs,
// buttons of a toolbar, rows of a form. Takes `{turn, lists, undo}`: by what share of its members a group is turned
// round, whether lists outside of menus are groups, and the name of an event that lets its sender, who alone knows it,
// see the page in its former order; empty if there is nobody.
(dom, { turn, lists, undo }) => {
  const MENUS = "nav, menu, nav ul, [role=navigation], [role=navigation] ul, [role=menu], [role=menubar], [role=tablist], [role=toolbar]";
  const LISTS = "ul, [role=list]";
  const PRESSED = "a, button, [role=button], [role=link], [role=tab], [role^=menuitem]";
  const TYPED =
    "input:not([type=hidden], [type=submit], [type=button], [type=reset], [type=image], [type=checkbox], [type=radio]), select, textarea";
  // Their order has a meaning, or moving them would do more than move them.
  const KEPT = "ol, table, [contenteditable], [role=feed], [class*=breadcrumb i], [aria-label*=breadcrumb i], [class*=step i], [class*=pag i]";
  const HEAVY = "iframe, script, video, audio, object, embed, :focus";
  const done = new WeakSet();
  const groups = [];

  const childrenOf = (element) => {
    const children = [];
    for (let child = dom.first(element); child; child = dom.next(child)) children.push(child);
    return children;
  };
  const inside = (element, css) => [...(dom.matches(element, css) ? [element] : []), ...dom.all(element, css)];
  // Gives some children of a group an order among the places that they have now.
  const arrange = (group, members) => {
    const places = childrenOf(group).filter((one) => members.includes(one)).map((one) => {
      const place = dom.comment("");
      dom.insert(group, place, one);
      return place;
    });
    places.forEach((place, at) => {
      dom.before(group, members[at], place);
      dom.remove(group, place);
    });
  };
  const move = (members) => {
    if (members.length < 2 || members.length > 40 || members.some((one) => inside(one, HEAVY).length > 0)) return;
    const shift = 1 + Math.floor(turn * (members.length - 1));
    const group = dom.parent(members[0]);
    arrange(group, members.map((_, at) => members[(at + shift) % members.length]));
    if (undo) groups.push({ group, members });
  };
  const restore = () => {
    for (const { group, members } of groups) {
      const now = childrenOf(group).filter((one) => members.includes(one));
      // Nothing of the page runs before whoever asked is done.
      dom.soon(() => dom.quietly(() => arrange(group, now)));
      arrange(group, members.filter((one) => now.includes(one)));
    }
  };
  const alike = (children) => {
    const tags = children.map((one) => dom.tag(one));
    return children.filter((one) => tags.filter((tag) => tag === dom.tag(one)).length * 2 > tags.length);
  };
  const entries = (group) => {
    if (dom.closest(group, KEPT)) return;
    const members = alike(childrenOf(group));
    // Numbers may be a rank, a date or a price, by which things are sorted.
    const free = members.every((one) => {
      const said = dom.text(one);
      return inside(one, PRESSED).length > 0 && /\p{L}/u.test(said) && !/\d/.test(said);
    });
    if (free && members.length > 1) {
      done.add(group);
      move(members);
    }
  };
  const rows = (field) => {
    let row = field;
    for (let up = dom.parent(row); up && dom.all(up, TYPED).length === 1; up = dom.parent(row)) row = up;
    const group = dom.parent(row);
    // A field that is its own row has its label elsewhere.
    if (!group || row === field || done.has(group) || dom.closest(group, KEPT)) return;
    done.add(group);
    const isRow = (one) =>
      dom.all(one, TYPED).length === 1 &&
      dom.all(one, "button, [type=submit], [type=password]").length === 0 &&
      /\p{L}/u.test(dom.text(one));
    move(alike(childrenOf(group)).filter(isRow));
  };
  const look = () => {
    for (const group of dom.all(dom.root(), lists ? `${MENUS}, ${LISTS}` : MENUS))
      if (!done.has(group)) dom.quietly(() => entries(group));
    for (const field of dom.all(dom.root(), TYPED)) dom.quietly(() => rows(field));
  };
  if (undo) dom.listen(document, undo, () => dom.quietly(restore));
  dom.keepUp(look);
};
