// Waits until nothing has happened in a document, and in its frames of the same origin, for a
// while, and nothing is announced to happen soon. `since` says how many milliseconds ago the last
// request began or ended.
// Returns whether it became quiet within the limit.
(tools, { name, since, still, patient, soon, limit }) => new Promise((done) => {
  const FRAMES = 20, AGAIN = 25, FRAME = 16, BUSY = 40;
  const began = performance.now();
  const observers = [];
  const changed = new Map();
  let unseen = false, over = false;

  const documents = (root = document, found = []) => {
    if (found.length >= FRAMES) return found;
    found.push(root);
    for (const view of root.querySelectorAll('iframe, frame')) {
      let inner = null;
      try { inner = view.contentDocument; } catch { /* another origin */ }
      if (inner) documents(inner, found);
    }
    return found;
  };
  // Of a page that was opened by somebody else, nothing is known until now.
  const idle = (root) => {
    if (!changed.has(root)) {
      changed.set(root, performance.now());
      const observer = new MutationObserver(() => changed.set(root, performance.now()));
      observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
      observers.push(observer);
    }
    return performance.now() - changed.get(root);
  };
  const ask = (view) => {
    const detail = { left: 0, unseen: false, idle: null, later: setTimeout, draw: requestAnimationFrame };
    if (view) view.dispatchEvent(new view.CustomEvent(name, { detail }));
    return detail;
  };
  // Own timers and frames are not among those that the page has announced.
  const { later, draw } = ask(window);
  const least = later === setTimeout ? Math.max(still, 100) : still;
  // A page is sent elsewhere without a script by <meta http-equiv="refresh" content="0; url=…">.
  const refreshes = (root) => {
    const meta = root.querySelector('meta[http-equiv="refresh" i]');
    const parts = meta && /^\s*(\d+(?:\.\d+)?)\s*[;,]\s*url\s*=/i.exec(meta.content);
    return Boolean(parts) && Number(parts[1]) * 1000 <= soon;
  };
  const moves = (root) => Boolean(root.getAnimations) && root.getAnimations().some((one) => {
    const end = one.effect && one.effect.getComputedTiming().endTime;
    return one.playState === 'running' && end - (one.currentTime || 0) <= soon;
  });
  const loading = (root) => root.readyState !== 'complete' || (root.fonts && root.fonts.status === 'loading');

  const finish = (quiet) => {
    if (over) return;
    over = true;
    for (const observer of observers) observer.disconnect();
    done(quiet);
  };
  // The milliseconds until the page may be quiet.
  const left = () => {
    const roots = documents(), passed = performance.now() - began;
    const wait = roots.some(loading) ? AGAIN : 0;
    // What announces or changes something again and again is not waited for.
    if (passed >= soon) return wait;
    let rest = since + passed, announced = 0;
    for (const root of roots) {
      const told = ask(root.defaultView);
      unseen = unseen || told.unseen === true;
      rest = Math.min(rest, told.idle === null ? idle(root) : Number(told.idle) || 0);
      const due = Math.min(Number(told.left) || 0, soon);
      announced = Math.max(announced, due, refreshes(root) || moves(root) ? AGAIN : 0);
    }
    // What answers unannounced, such as a database, is given more time, and from now on: nobody
    // knows what it was asked before.
    const calm = unseen ? Math.max(least, patient) - Math.min(rest, passed) : least - rest;
    return Math.max(wait, calm, announced);
  };
  const look = () => {
    const wait = left();
    // What is left of a short wait passes while a frame is drawn.
    if (wait > FRAME) later(look, Math.min(wait - FRAME / 2, AGAIN));
    else settle();
  };
  // What is queued already comes first: frames to draw, messages of a scheduler, idle callbacks.
  const settle = () => {
    const entered = performance.now();
    let called = false;
    const end = (busy) => {
      if (called) return;
      called = true;
      const wait = left();
      if (busy || wait > FRAME) look();
      else if (wait > 0) later(settle, wait);
      else finish(true);
    };
    // A page that lets nobody in for long is computing what it will show, or the machine is slow.
    const atRest = () => {
      const now = performance.now();
      end(now - entered > BUSY && now - began < patient);
    };
    draw(() => window.requestIdleCallback ? requestIdleCallback(atRest) : later(atRest));
    // A page that is not drawn has no frames.
    later(() => end(false), patient);
  };
  later(() => finish(false), limit);
  look();
})
