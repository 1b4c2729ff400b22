// Notes what a page has announced to do soon, for `quiet.js`, which asks by an event of this name.
// Runs before the page's own scripts, and in every frame.
({ name, soon }) => {
  const MOST = 500, TICK = 250, FRAME = 16, FRAMES = 3;
  const now = performance.now.bind(performance);
  const later = window.setTimeout.bind(window);
  const draw = window.requestAnimationFrame.bind(window);
  const due = new Map();
  let leaving = 0, unseen = false;

  // When the document last changed, or anything was due that may have changed it.
  let touched = now();
  const touch = () => { touched = now(); };
  new MutationObserver(touch).observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  addEventListener('load', touch, { once: true });

  const announce = (id, delay) => {
    if (due.size >= MOST) for (const [old, when] of due) if (when < now()) due.delete(old);
    if (due.size < MOST) due.set(id, now() + delay);
  };
  // A proxy looks like what it stands for, whatever a page asks of it.
  const wrap = (owner, key, after) => {
    const made = owner && owner[key];
    if (typeof made !== 'function') return;
    const told = (given, result) => {
      after(given, result);
      return result;
    };
    owner[key] = new Proxy(made, {
      apply: (target, self, given) => told(given, Reflect.apply(target, self, given)),
      construct: (target, given, kind) => told(given, Reflect.construct(target, given, kind)),
    });
    if (made.prototype && made.prototype.constructor === made) made.prototype.constructor = owner[key];
  };
  const delayOf = given => given[1] === undefined ? 0 : typeof given[1] === 'number' ? given[1] : Infinity;
  wrap(window, 'setTimeout', (given, id) => {
    if (!(delayOf(given) > soon)) announce(id, delayOf(given) || 0);
  });
  wrap(window, 'setInterval', (given, id) => {
    // What looks every moment whether something is there may soon find it; a clock goes on for ever.
    if (!(delayOf(given) > TICK)) announce(id, soon / 2);
  });
  // What is drawn from one frame to the next ends within a few frames, or goes on for ever.
  let asked = 0, known = 0, drawing = false, drawn = 0;
  const frame = () => {
    drawn += 1;
    if (drawn <= FRAMES) touch();
    drawing = asked > known;
    if (drawing) next();
    else later(() => { if (!drawing) drawn = 0; });
  };
  const next = () => {
    drawing = true;
    known = asked;
    draw(frame);
  };
  wrap(window, 'requestAnimationFrame', () => {
    asked += 1;
    if (!drawing) next();
  });
  for (const clear of ['clearTimeout', 'clearInterval']) wrap(window, clear, given => due.delete(given[0]));
  // What the browser works at beside the page, until it has done it.
  const then = Promise.prototype.then;
  for (const [kind, keys] of [
    ['Blob', ['arrayBuffer', 'text']],
    ['HTMLImageElement', ['decode']],
    ['Response', ['arrayBuffer', 'blob', 'formData', 'json', 'text']],
    ['SubtleCrypto', ['decrypt', 'deriveBits', 'deriveKey', 'digest', 'encrypt', 'sign', 'verify']],
  ]) {
    for (const key of keys) wrap(window[kind] && window[kind].prototype, key, (given, work) => {
      announce(work, soon);
      const end = () => { if (due.delete(work)) touch(); };
      Reflect.apply(then, work, [end, end]);
    });
  }
  // What these bring comes unannounced.
  const note = () => { unseen = true; };
  for (const source of ['WebSocket', 'EventSource', 'Worker', 'SharedWorker', 'BroadcastChannel']) {
    wrap(window, source, note);
  }
  wrap(window.IDBFactory && IDBFactory.prototype, 'open', note);
  if (window.navigation) {
    navigation.addEventListener('navigate', event => {
      if (!event.destination.sameDocument && event.downloadRequest === null) leaving = now();
    });
  }
  addEventListener(name, event => {
    event.stopImmediatePropagation();
    let last = leaving ? leaving + soon : 0;
    for (const when of due.values()) last = Math.max(last, when);
    if (drawing && drawn < FRAMES) last = Math.max(last, now() + FRAME);
    // A timer of the past may just have changed something.
    const idle = now() - Math.max(touched, Math.min(last, now()));
    Object.assign(event.detail, { left: last - now(), idle, unseen, later, draw });
  }, true);
}
