// Keeps what changes of a page use of the DOM, as it is before the page's own scripts can replace it.
() => {
  const own = (kind, name) => Object.getOwnPropertyDescriptor(kind.prototype, name);
  const method = (kind, name) => Function.prototype.call.bind(own(kind, name).value);
  const getter = (kind, name) => Function.prototype.call.bind(own(kind, name).get);
  const found = method(Element, "querySelectorAll");
  const item = method(NodeList, "item");
  const length = getter(NodeList, "length");
  const children = getter(Node, "childNodes");
  const listen = method(EventTarget, "addEventListener");
  const observe = method(MutationObserver, "observe");
  const top = getter(Document, "documentElement");
  const state = getter(Document, "readyState");
  const Observer = MutationObserver;
  const later = setTimeout.bind(window);
  // What a page does to other parts of the language may stop a change, but nothing else.
  const quietly = (work) => {
    try {
      return work();
    } catch {
      return undefined;
    }
  };
  const watch = (told, options, root = document) =>
    observe(new Observer((records) => quietly(() => told(records))), root, options);
  // Tells of each open shadow root as scripts attach it; those of the parser are found by `shadow`.
  const onShadow = (told) => {
    const attach = own(Element, "attachShadow");
    const { attachShadow } = {
      attachShadow(init) {
        const root = Reflect.apply(attach.value, this, [init]);
        if (init.mode === "open") quietly(() => told(root));
        return root;
      },
    };
    Object.defineProperty(Element.prototype, "attachShadow", { ...attach, value: attachShadow });
  };
  const slots = [Element, Text].map((kind) => getter(kind, "assignedSlot"));
  const whenReady = (go) => {
    const ready = () => quietly(go);
    if (state(document) === "loading") listen(document, "DOMContentLoaded", ready, { once: true });
    else ready();
  };
  // Does its work once the page is there, and again shortly after parts have come or gone, at most 40 times.
  const keepUp = (work) => {
    let left = 40;
    let waits = false;
    const again = () => {
      waits = false;
      quietly(work);
    };
    whenReady(work);
    watch(
      () => {
        if (waits || left === 0) return;
        waits = true;
        left -= 1;
        later(again, 50);
      },
      { childList: true, subtree: true },
    );
  };
  return {
    quietly,
    listen,
    keepUp,
    watch,
    onShadow,
    whenReady,
    soon: queueMicrotask.bind(window),
    root: () => top(document),
    all: (element, css) => {
      const list = found(element, css);
      return Array.from({ length: length(list) }, (_, at) => item(list, at));
    },
    matches: method(Element, "matches"),
    closest: method(Element, "closest"),
    contains: method(Node, "contains"),
    tag: getter(Element, "localName"),
    parent: getter(Node, "parentElement"),
    shadow: getter(Element, "shadowRoot"),
    slot: (node) => (node instanceof Text ? slots[1](node) : slots[0](node)),
    slotted: method(HTMLSlotElement, "assignedNodes"),
    within: (node) => Array.from({ length: length(children(node)) }, (_, at) => item(children(node), at)),
    first: getter(Element, "firstElementChild"),
    next: getter(Element, "nextElementSibling"),
    kind: getter(Node, "nodeType"),
    text: getter(Node, "textContent"),
    markup: getter(Element, "outerHTML"),
    connected: getter(Node, "isConnected"),
    // Moves a node without what leaving the document does, such as losing the focus, where the browser can.
    before: own(Element, "moveBefore") ? method(Element, "moveBefore") : method(Node, "insertBefore"),
    insert: method(Node, "insertBefore"),
    remove: method(Node, "removeChild"),
    comment: method(Document, "createComment").bind(null, document),
    walker: method(Document, "createTreeWalker").bind(null, document),
    step: method(TreeWalker, "nextNode"),
    data: getter(CharacterData, "data"),
    write: Function.prototype.call.bind(own(CharacterData, "data").set),
    attribute: method(Element, "getAttribute"),
    mark: method(Element, "setAttribute"),
  };
};
