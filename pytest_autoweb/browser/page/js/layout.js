// Lets the page flow otherwise: a narrower column, another font, and what is at one side at the other.
// Takes `{width, font, height}`: pixels, a font's name, a line's height.
(dom, { width, font, height }) => {
  const SIDES = "aside, nav, [role=navigation], [role=complementary]";
  const turned = new WeakSet();
  dom.quietly(() => {
    const sheet = new CSSStyleSheet();
    // Icons are letters of a font of their own, so it is changed only where words are.
    sheet.replaceSync(`
      body { max-width: ${width}px !important; margin-inline: auto !important; }
      body :is(h1, h2, h3, h4, p, li, dt, dd, th, td, label, legend, a, button, input, select, textarea) {
        font-family: ${font} !important; line-height: ${height} !important;
      }`);
    // A style that is adopted is no part of the markup, and no content security policy refuses it.
    document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  });
  const style = getComputedStyle.bind(window);
  const turn = () => {
    for (const side of dom.all(dom.root(), SIDES)) {
      const whole = dom.parent(side);
      if (!whole || turned.has(whole)) continue;
      const { display, flexDirection, direction } = style(whole);
      const flows = display.includes("grid") || (display.includes("flex") && flexDirection.startsWith("row"));
      // Beside what it only lists, a menu is at no side.
      if (!flows || dom.all(whole, "main, [role=main], section, article, div").length === 0) continue;
      turned.add(whole);
      const here = direction === "rtl" ? "rtl" : "ltr";
      const parts = [];
      for (let part = dom.first(whole); part; part = dom.next(part)) parts.push(part);
      for (const part of parts) part.style.direction = here;
      whole.style.direction = here === "rtl" ? "ltr" : "rtl";
    }
  };
  dom.keepUp(turn);
};
