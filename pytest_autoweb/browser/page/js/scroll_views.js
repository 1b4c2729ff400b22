// Returns the inner size of the box that scrolls when the wheel is turned over an element.
({ dom, elements }, [across, down]) => {
  const scrolls = (node) => {
    const css = dom.style(node);
    const can = (overflow, room) => /auto|scroll|overlay/.test(overflow) && room > 1;
    return (down && can(css.overflowY, node.scrollHeight - node.clientHeight))
      || (across && can(css.overflowX, node.scrollWidth - node.clientWidth));
  };
  let node = elements[0];
  while (node && !scrolls(node)) node = dom.parent(node);
  return node ? [node.clientWidth, node.clientHeight] : [innerWidth, innerHeight];
}
