// A selector engine of Playwright that runs our scripts, and finds the elements that they kept.
//
// A script is known by its name once its source was given, for as long as the document is there.
// The body is JSON: `script` with `arg`, and `within` for the elements that it is about; `look`
// numbers what it keeps, of which `kept` is one element; `snapshot` is what a snapshot begins at.
({ dom, ...tools }, elementsWithin, snapshotRoot, unknown) => {
  const scripts = new Map(), looks = new Map();
  const run = (root, { script, source, arg, within, look }) => {
    // Only we hand it over, and nothing of the page's is in this world.
    // oxlint-disable-next-line no-eval
    if (source) scripts.set(script, (0, eval)(source)(dom));
    if (!scripts.has(script)) return unknown;
    const about = within ? elementsWithin(dom, root, within) : [root];
    const told = scripts.get(script)(about, arg);
    // What a script of a whole document keeps, it chooses itself.
    const { elements, json } = typeof told === 'string' ? { elements: about, json: told } : told;
    if (look) looks.set(script, { look, elements });
    return json;
  };
  const found = ({ script, look, kept }) => {
    const newest = looks.get(script);
    const element = newest && newest.look === look ? newest.elements[kept] : null;
    return element && element.isConnected ? [element] : [];
  };
  return {
    query(root, body) {
      return this.queryAll(root, body)[0] || null;
    },
    queryAll(root, body) {
      const asked = JSON.parse(body);
      if (asked.snapshot) return [snapshotRoot({ dom, ...tools }, asked.snapshot)].filter(Boolean);
      if (asked.kept !== undefined) return found(asked);
      // Only a text gets out of this world, and that of an element which is not in the page. A page
      // may demand that the text of a script is one that it trusts; this is no script.
      const carrier = document.createElement('data');
      carrier.textContent = run(root, asked);
      return [carrier];
    },
  };
}
