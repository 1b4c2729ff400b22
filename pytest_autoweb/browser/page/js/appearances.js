// Notes which lines of text appear in a document and when they go, and tells the host at once.
// Runs before the page's own scripts, and in every frame. A page knows neither of the two names:
// `tell` is that of the host's function, `ask` that of the event by which the host asks.
({ dom }, { tell, ask }) => {
  const NODES = 20000, LONGEST = 1000, ALIKE = 200;
  // What is announced has a room of its own, so that no stream of other text pushes it out.
  const room = { '': { groups: 1000, chars: 300000 }, live: { groups: 500, chars: 100000 } };
  // After a look, the page has this many times as long for itself.
  const REST = 10, HASTE = 2;
  const ROLES = new Set(['alert', 'alertdialog', 'dialog', 'log', 'marquee', 'status', 'timer', 'tooltip']);
  const LIVE = '[role~="alert"], [role~="status"], [role~="log"], [aria-live], output';
  const SKIPPED = new Set(['script', 'style', 'noscript', 'template', 'head', 'option', 'textarea',
    'canvas', 'video', 'audio']);
  // Taken now, since a case may set the page's clock, and other scripts of ours watch timers.
  const now = performance.now.bind(performance), clock = Date.now, later = setTimeout.bind(window);
  const send = window[tell];
  delete window[tell];
  if (typeof send !== 'function') return;
  const id = Array.from(crypto.getRandomValues(new Uint32Array(3))).join('-');
  const closed = new WeakMap(), observed = new WeakSet(), alike = new Map();
  const shown = new Map(), open = new Map();
  let groups = 0, dirty = true, cost = 0, ended = -Infinity, due = Infinity, asked = null;

  const roleOf = (element) => {
    const given = (dom.attr(element, 'role') || '').trim().toLowerCase().split(/\s+/)[0];
    if (ROLES.has(given)) return given;
    const live = (dom.attr(element, 'aria-live') || '').toLowerCase();
    if (live === 'polite') return 'status';
    if (live === 'assertive') return 'alert';
    return given ? '' : { output: 'status', dialog: 'dialog' }[dom.tag(element)] || '';
  };

  // The visible lines of the document as pairs of role and text; a line ends where a block does.
  const lines = () => {
    const found = [];
    let text = '', role = '', nodes = 0;
    const end = () => {
      const line = dom.clean(text);
      if (line) found.push([role, line.slice(0, LONGEST)]);
      text = '';
    };
    const walk = (node, depth, visible, within) => {
      if (++nodes > NODES || depth > 400) return;
      if (dom.nodeType(node) === 3) {
        if (!visible) return;
        role = within;
        text += dom.nodeValue(node);
        return;
      }
      if (!dom.isElement(node)) return;
      const tag = dom.tag(node);
      if (tag === 'br') end();
      if (SKIPPED.has(tag)) return;
      const css = dom.style(node);
      if (css.display === 'none' || !dom.rendered(node, css)) return;
      const own = roleOf(node), cell = css.display === 'table-cell';
      const edge = own || !(cell || css.display.startsWith('inline') || css.display === 'contents');
      if (edge) end();
      if (cell) text += ' ';
      const hidden = closed.get(node), root = hidden || dom.shadow(node);
      if (root) observe(root);
      const inside = hidden ? Array.from(dom.childNodes(hidden)) : dom.children(node);
      for (const child of inside) walk(child, depth + 1, css.visibility === 'visible', own || within);
      if (edge) end();
    };
    if (document.body) walk(document.body, 0, true, '');
    end();
    return found;
  };

  const deliver = (message) => {
    const text = dom.stringify({ id, at: clock(), ...message });
    if (asked) asked.push(text);
    else Promise.resolve(send(text)).catch(() => {});
  };

  const textOf = ({ lines: told }) => told.map(([line]) => line).join(' ');
  // An empty text stands for any.
  const short = (text) => text.length > 200 ? '' : text;
  // Text that only differs in its numbers, such as a clock, is told so many times.
  const fits = (told) => {
    const { role } = told, left = room[role ? 'live' : ''], text = textOf(told);
    if (!role) {
      const form = text.replace(/\d+/g, '#').slice(0, 200);
      const times = (alike.get(form) || 0) + 1;
      if (alike.size < 5000) alike.set(form, times);
      if (times > ALIKE) return false;
    }
    if (left.groups < 1 || left.chars < text.length) return false;
    left.groups -= 1;
    left.chars -= text.length;
    return true;
  };

  const look = () => {
    if (!dirty) return;
    dirty = false;
    const began = now(), counts = new Map(), fresh = [], gone = [];
    let group = null;
    for (const [role, text] of lines()) {
      const key = `${role}\n${text}`, nth = (counts.get(key) || 0) + 1;
      counts.set(key, nth);
      const before = shown.get(key) || [];
      if (before.length >= nth) {
        group = null;
        continue;
      }
      if (!group || group.role !== role) fresh.push(group = { number: ++groups, role, lines: [] });
      group.lines.push([text, nth]);
      before.push(group.number);
      shown.set(key, before);
    }
    for (const [key, numbers] of shown) {
      while (numbers.length > (counts.get(key) || 0)) {
        const number = numbers.pop(), left = (open.get(number) || 1) - 1;
        if (left) open.set(number, left);
        else if (open.delete(number)) gone.push(number);
      }
      if (!numbers.length) shown.delete(key);
    }
    const told = fresh.filter(fits);
    for (const { number, lines: of } of told) open.set(number, of.length);
    const lost = fresh.filter(one => !told.includes(one)).map(one => [one.role, short(textOf(one))]);
    if (lost.length > 20) lost.splice(20, Infinity, ['', ''], ['alert', '']);
    if (told.length || gone.length || lost.length) deliver({ told, gone, lost });
    ended = now();
    cost = ended - began;
  };
  const soon = (hasty) => {
    dirty = true;
    const at = ended + cost * (hasty ? HASTE : REST);
    if (at <= now()) look();
    else if (at < due) {
      due = at;
      later(() => {
        due = Infinity;
        look();
      }, at - now());
    }
  };

  const isLive = (node) => {
    const element = dom.isElement(node) ? node : dom.parent(node);
    return Boolean(element) && (Boolean(dom.closest(element, LIVE)) || dom.query(element, LIVE).length > 0);
  };
  const observer = new MutationObserver((records) => {
    const few = records.slice(0, 20);
    soon(few.some(({ target, addedNodes }) => isLive(target) || Array.from(addedNodes).slice(0, 20).some(isLive)));
  });
  const observe = (root) => {
    if (observed.has(root)) return;
    observed.add(root);
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
  };
  observe(document);
  // No observer sees into the shadow roots of a document, and no script finds those that are closed.
  Element.prototype.attachShadow = new Proxy(Element.prototype.attachShadow, {
    apply: (target, self, given) => {
      const root = Reflect.apply(target, self, given);
      closed.set(self, root);
      observe(root);
      dirty = true;
      return root;
    },
  });
  // Styles change what is visible without a change of the document.
  for (const type of ['change', 'input', 'toggle', 'transitionend', 'animationstart', 'animationend', 'load']) {
    addEventListener(type, () => soon(false), true);
  }
  addEventListener('pagehide', look, true);

  // A dialog of the browser stops the page until it is answered.
  for (const kind of ['alert', 'confirm', 'prompt']) {
    if (typeof window[kind] !== 'function') continue;
    window[kind] = new Proxy(window[kind], {
      apply: (target, self, given) => {
        const group = { number: ++groups, role: 'dialog', lines: [[dom.clean(String(given[0] ?? '')).slice(0, LONGEST), 1]] };
        const told = fits(group);
        if (told) deliver({ told: [group], gone: [], lost: [] });
        try {
          return Reflect.apply(target, self, given);
        } finally {
          if (told) deliver({ told: [], gone: [group.number], lost: [] });
        }
      },
    });
  }

  addEventListener(ask, (event) => {
    event.stopImmediatePropagation();
    asked = [];
    dirty = true;
    try {
      look();
      event.detail.told = asked;
    } finally {
      asked = null;
    }
  }, true);
}
