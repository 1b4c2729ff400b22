// Builds the document that the text of a stored copy describes, tag by tag. A parser would move what
// scripts may put anywhere, such as a table in a paragraph; calls of the DOM leave it in its place.
(_unused, text) => {
  const SPACES = ['http://www.w3.org/1999/xhtml', 'http://www.w3.org/2000/svg',
    'http://www.w3.org/1998/Math/MathML'];
  const PREFIXED = { xlink: 'http://www.w3.org/1999/xlink', xmlns: 'http://www.w3.org/2000/xmlns/',
    xml: 'http://www.w3.org/XML/1998/namespace' };
  const SIGNS = { lt: '<', gt: '>', quot: '"', '#x27': "'", amp: '&' };
  // Read here alone; and what would lead away from the copy.
  const NOT_GIVEN = new Set(['srcdoc', 'data-autoweb-space', 'http-equiv']);
  const DOCTYPE = '<!doctype html>';
  // Layout of a tree much deeper than those of parsers could end the browser.
  const DEEPEST = 1000;

  const plain = (escaped) => escaped.replace(/&(lt|gt|quot|#x27|amp);/g, (_, sign) => SIGNS[sign]);
  // Every sign in texts and values is escaped, so that these are the parts of a tag.
  const read = (tag) => {
    const parts = tag.split('"');
    const [name, first] = parts[0].split(' ');
    const given = new Map();
    let key = first;
    for (let index = 1; index < parts.length; index += 2) {
      given.set(key.trim().slice(0, -1), plain(parts[index]));
      key = parts[index + 1];
    }
    return { name: name.replace(/\/$/, ''), given, ends: tag.endsWith('/') };
  };
  const give = (element, name, value) => {
    const prefixed = element.namespaceURI !== SPACES[0] && PREFIXED[name.split(':')[0]];
    try {
      if (prefixed) element.setAttributeNS(prefixed, name, value);
      else element.setAttribute(name, value);
    } catch {
      // Older browsers take a name such as `@click` from a parser only.
    }
  };
  // A field of a form may be called "append".
  const put = (parent, child) => Node.prototype.appendChild.call(parent, child);

  const make = (doc, { name, given }, parent) => {
    if (name === 'template' && given.has('shadowrootmode')) {
      return { node: parent.node.attachShadow({ mode: 'open' }), space: 0 };
    }
    const space = Number(given.get('data-autoweb-space') ?? parent.space);
    const node = space ? doc.createElementNS(SPACES[space], name) : doc.createElement(name);
    for (const [key, value] of given) {
      if (!NOT_GIVEN.has(key.toLowerCase())) give(node, key, value);
    }
    put(parent.node, node);
    return { node, space };
  };
  const build = (doc, source) => {
    const whole = doc.createDocumentFragment();
    const frames = [];
    const open = [{ node: whole, space: 0 }];
    const add = (escaped) => {
      if (escaped) put(open.at(-1).node, doc.createTextNode(plain(escaped)));
    };
    for (const piece of source.replace(DOCTYPE, '').split('<').slice(1)) {
      const end = piece.indexOf('>');
      if (piece.startsWith('/')) open.pop();
      else {
        const tag = read(piece.slice(0, end));
        const made = make(doc, tag, open.at(-1));
        if (tag.given.has('srcdoc')) frames.push([made.node, tag.given.get('srcdoc')]);
        if (!tag.ends && open.push(made) > DEEPEST) throw new Error('elements lie too deep');
      }
      add(piece.slice(end + 1));
    }
    return { whole, frames };
  };
  const fill = (doc, source) => {
    // Opening also ends a load that the address of a frame has begun.
    doc.open();
    doc.write(source.startsWith(DOCTYPE) ? DOCTYPE : '');
    doc.close();
    if (!source) return;
    const { whole, frames } = build(doc, source);
    doc.documentElement.remove();
    put(doc, whole);
    for (const [frame, inner] of frames) {
      if (frame.contentDocument) fill(frame.contentDocument, inner);
    }
  };
  fill(document, text);
}
