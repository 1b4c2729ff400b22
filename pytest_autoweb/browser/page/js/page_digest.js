// Returns a digest of the whole document (its markup, its rendered text and the values of its
// fields), how far what is scrolled, whether it is drawn by other means than that, whether its
// picture needs no preparation, and how many frames it has. Returns null if it cannot see all other
// parts of it.
({ dom, showsBare }, { painted, covered }) => {
  if (dom.query(document, 'object, embed').length) return null;
  const all = dom.query(document, '*');
  if (all.length > 20000 || all.some((element) => dom.shadow(element))) return null;
  const fields = dom.query(document, 'input, textarea, select').map((field) => [
    dom.value(field), dom.flag(field, 'checked')]);
  const root = document.documentElement;
  const text = JSON.stringify([root.outerHTML, root.innerText, document.title, fields]);
  // cyrb53 with two seeds gives 106 bits; plain HTTP pages have no crypto API.
  const hash = (seed) => {
    let a = 0xdeadbeef ^ seed, b = 0x41c6ce57 ^ seed;
    for (let i = 0; i < text.length; i += 1) {
      const c = text.charCodeAt(i);
      a = Math.imul(a ^ c, 2654435761);
      b = Math.imul(b ^ c, 1597334677);
    }
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    return (4294967296 * (2097151 & b) + (a >>> 0)).toString(16);
  };
  const scrolled = all.flatMap(({ scrollLeft: x, scrollTop: y }, at) => x || y ? [`${at}:${x},${y}`] : []);
  return {
    scrolled: scrolled.join(' '),
    digest: `${text.length}-${hash(1)}-${hash(2)}`,
    painted: dom.query(document, painted).length > 0,
    bare: showsBare(covered),
    frames: dom.query(document, 'iframe, frame').length,
  };
}
