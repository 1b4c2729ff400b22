// Tells whether the page can be scrolled further up and down.
() => {
  const root = document.scrollingElement || document.documentElement;
  const top = root.scrollTop;
  return { up: top > 1, down: top + innerHeight < root.scrollHeight - 1 };
}
