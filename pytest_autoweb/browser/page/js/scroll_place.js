// Returns a place at which the wheel scrolls the page itself or, where the page cannot be scrolled,
// the largest box in view that can, with the size of what is scrolled.
({ dom }, [across, down]) => {
  const STEPS = 8;
  const room = (node) => (down && node.scrollHeight - node.clientHeight > 1)
    || (across && node.scrollWidth - node.clientWidth > 1);
  const scrolls = (node) => {
    const css = dom.style(node);
    const open = (overflow) => /auto|scroll|overlay/.test(overflow);
    return room(node) && (down ? open(css.overflowY) : open(css.overflowX));
  };
  const root = document.scrollingElement || document.documentElement;
  const boxAt = (x, y) => {
    let node = Document.prototype.elementFromPoint.call(document, x, y);
    while (node && node !== root && node !== document.body && !scrolls(node)) node = dom.parent(node);
    return node && node !== root && node !== document.body ? node : null;
  };
  const places = [];
  for (let row = 1; row < STEPS; row += 1) {
    for (let column = 1; column < STEPS; column += 1) {
      places.push([Math.round(innerWidth * column / STEPS), Math.round(innerHeight * row / STEPS)]);
    }
  }
  const middle = (place) => Math.abs(place[0] - innerWidth / 2) + Math.abs(place[1] - innerHeight / 2);
  places.sort((a, b) => middle(a) - middle(b));
  const found = places.map((place) => ({ place, box: boxAt(...place) }));
  const onPage = found.find((one) => !one.box);
  if (onPage && room(root)) return [...onPage.place, innerWidth, innerHeight];
  const area = (box) => box.clientWidth * box.clientHeight;
  const boxes = found.filter((one) => one.box).sort((a, b) => area(b.box) - area(a.box));
  const [best] = boxes;
  if (best) return [...best.place, best.box.clientWidth, best.box.clientHeight];
  return [...places[0], innerWidth, innerHeight];
}
