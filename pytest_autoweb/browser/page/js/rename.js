// Gives buttons, links and fields other words, in open shadow roots too; roles, values and texts that are no label stay.
// Takes `{words, before, after, mark, undo}`: pairs of a label and its synonym; what stands before and after all other
// labels; what test ids, ids and classes get at their end; and the name of an event that lets its sender, who alone
// knows it, see the page as it was; empty if there is nobody.
(dom, { words, before, after, mark, undo }) => {
  const PRESSED =
    "a, button, summary, label, legend, [role=button], [role=link], [role=tab], [role^=menuitem], [role=switch], [role=checkbox], [role=radio]";
  const CONTROLS = `${PRESSED}, input, textarea, select, [role=textbox], [role=searchbox], [role=combobox], [role=spinbutton]`;
  const SAYS = ["aria-label", "placeholder", "title"];
  const TEST_IDS = ["data-testid", "data-test-id", "data-test", "data-qa", "data-cy"];
  const BUTTON = "input[type=submit]:not([name]), input[type=button]:not([name]), input[type=reset]:not([name])";
  const APART = "script, style, select, textarea, svg, option, [contenteditable]";
  const synonyms = new Map(words);
  const TEXT = "#text";
  const WATCHED = {
    childList: true,
    subtree: true,
    characterData: true,
    attributes: true,
    attributeFilter: [...SAYS, ...TEST_IDS, "value"],
  };
  const opened = new WeakSet();
  const changes = new Map();
  // A page that puts each text back would otherwise be at it for ever.
  let left = 5000;

  const reword = (text) => {
    const [, lead, said, tail] = /^(\s*)(.*?)([\s:*…]*)$/su.exec(text);
    if (said.length > 80 || !/\p{L}{2}/u.test(said)) return text;
    const other = synonyms.get(said.toLowerCase().replace(/\s+/g, " "));
    if (!other) return `${lead}${before}${said}${after}${tail}`;
    return `${lead}${said === said.toUpperCase() ? other.toUpperCase() : other}${tail}`;
  };
  const read = (node, name) => (name === TEXT ? dom.data(node) : dom.attribute(node, name));
  const put = (node, name, value) => (name === TEXT ? dom.write(node, value) : dom.mark(node, name, value));
  const change = (node, name, other) => {
    const was = read(node, name);
    if (!was || left === 0) return;
    const known = changes.get(node) ?? new Map();
    if (known.get(name)?.is === was) return;
    const is = other(was);
    if (is === was) return;
    left -= 1;
    known.set(name, { was, is });
    changes.set(node, known);
    put(node, name, is);
  };
  const marked = (text) => `${text}-${mark}`;
  const firstText = (node) => {
    if (dom.kind(node) === Node.TEXT_NODE) return dom.data(node).trim() === "" ? null : node;
    if (dom.kind(node) !== Node.ELEMENT_NODE) return null;
    const walker = dom.walker(node, NodeFilter.SHOW_TEXT);
    for (let text = dom.step(walker); text; text = dom.step(walker))
      if (dom.data(text).trim() !== "" && !dom.closest(dom.parent(text), APART)) return text;
    return null;
  };
  const label = (element) => {
    const text = firstText(element);
    if (text) {
      if (dom.closest(dom.parent(text), PRESSED) === element) change(text, TEXT, reword);
      return;
    }
    // What it shows may stand outside of its shadow root.
    for (const slot of dom.all(element, "slot"))
      for (const node of dom.slotted(slot, { flatten: true })) {
        const said = firstText(node);
        if (!said) continue;
        change(said, TEXT, reword);
        return;
      }
  };
  const around = (node) => {
    const near = dom.parent(node) && dom.closest(dom.parent(node), PRESSED);
    if (near) return near;
    let up = 5;
    for (let at = node; at && up > 0; at = dom.parent(at), up -= 1) {
      const slot = dom.slot(at);
      if (slot) return dom.closest(slot, PRESSED);
    }
    return null;
  };
  const labelAround = (node) => {
    const pressed = around(node);
    if (pressed) label(pressed);
  };
  const attributes = (element) => {
    for (const name of TEST_IDS) change(element, name, marked);
    if (!dom.matches(element, CONTROLS)) return;
    for (const name of SAYS) change(element, name, reword);
    if (dom.matches(element, BUTTON)) change(element, "value", reword);
  };
  const enter = (element) => {
    const listed = `${CONTROLS}, ${TEST_IDS.map((name) => `[${name}]`).join(", ")}`;
    const within = dom.all(element, listed);
    for (const one of dom.matches(element, listed) ? [element, ...within] : within) {
      attributes(one);
      if (!dom.matches(one, CONTROLS)) continue;
      change(one, "class", (was) => `${was} ${mark}`);
      if (dom.matches(one, PRESSED)) label(one);
    }
    labelAround(element);
    for (const one of [element, ...dom.all(element, "*")]) open(dom.shadow(one));
  };
  // Only those that no script, style or other element can know.
  const ids = () => {
    if (dom.all(dom.root(), "script[src], link[rel~=stylesheet]").length > 0) return;
    const source = dom.markup(dom.root());
    for (const one of dom.all(dom.root(), CONTROLS)) {
      const id = dom.attribute(one, "id");
      if (id && source.split(id).length === 2) change(one, "id", marked);
    }
  };
  const seen = ({ type, target, addedNodes }) => {
    if (type === "attributes") {
      attributes(target);
      return;
    }
    if (type === "characterData") {
      labelAround(target);
      return;
    }
    for (const node of addedNodes) {
      if (dom.kind(node) === Node.ELEMENT_NODE) enter(node);
      else if (dom.kind(node) === Node.TEXT_NODE) labelAround(node);
    }
  };
  const look = (root) =>
    dom.watch((records) => records.forEach((one) => dom.quietly(() => seen(one))), WATCHED, root);
  function open(root) {
    if (!root || opened.has(root)) return;
    opened.add(root);
    look(root);
    for (const node of dom.within(root)) if (dom.kind(node) === Node.ELEMENT_NODE) enter(node);
  }
  const flip = (from, to) => {
    for (const [node, known] of changes) {
      if (!dom.connected(node)) changes.delete(node);
      else for (const [name, texts] of known) if (read(node, name) === texts[from]) put(node, name, texts[to]);
    }
  };
  if (undo)
    dom.listen(document, undo, () => {
      // Nothing of the page runs before whoever asked is done.
      dom.soon(() => dom.quietly(() => flip("was", "is")));
      dom.quietly(() => flip("is", "was"));
    });
  look(document);
  dom.onShadow(open);
  dom.whenReady(() => {
    enter(dom.root());
    ids();
  });
};
