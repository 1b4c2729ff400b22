// Scrolls the page and those boxes in it that hold a list, by one step; a negative step goes up.
(_, step) => {
  const root = document.scrollingElement || document.documentElement;
  const held = new Map();
  const scrolls = (element) => {
    const room = element.scrollHeight - element.clientHeight;
    if (room < 20 || element.clientHeight < 60) return false;
    return /auto|scroll|overlay/.test(getComputedStyle(element).overflowY);
  };
  const kinds = 'a[href], li, tr, [role=option], [role=row], [role=listitem]';
  const items = document.querySelectorAll(kinds);
  for (const item of [...items].slice(0, 500)) {
    const outer = [root, document.body, null];
    for (let at = item.parentElement; !outer.includes(at); at = at.parentElement) {
      if (held.has(at)) { held.set(at, held.get(at) + 1); continue; }
      if (scrolls(at)) held.set(at, 1);
    }
  }
  // The boxes with the most entries first; menus that scroll hold fewer than the list does.
  const lists = [...held].filter(([, count]) => count > 1).sort((a, b) => b[1] - a[1]).slice(0, 3);
  let ended = true;
  const move = (element, size) => {
    const before = element.scrollTop;
    // A box is moved by less than it shows, so that no entry is passed over; up by a little, since
    // boxes often forget the entries that are out of sight.
    const up = element === root ? step : -size * 0.1;
    const down = element === root ? Math.max(step, size) : size * 0.8;
    element.scrollBy({top: step < 0 ? up : down, behavior: 'instant'});
    const there = element.scrollTop + size >= element.scrollHeight - (element === root ? 50 : 2);
    if (!there && element.scrollTop !== before) ended = false;
  };
  move(root, innerHeight);
  for (const [box] of lists) move(box, box.clientHeight);
  return {ended, boxes: lists.length};
}
