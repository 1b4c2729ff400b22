// Waits until nothing is announced to happen soon in a document, and in its frames of the same
// origin, and nothing else is queued; and where that does not tell all, until nothing has happened
// for a while.
// Returns whether it became quiet within the limit, and whether nothing has happened since it loaded.
(tools, { name, still, exact, patient, soon, limit }) => new Promise((done) => {
  const FRAMES = 20, AGAIN = 25, FRAME = 16, NEXT_TO_NOTHING = 1, FOLLOWED = 8;
  const began = performance.now();
  const observers = [];
  const watched = new WeakSet();
  let touched = began, guessed = -Infinity, strange = false, unseen = false;
  let frames = 0, over = false, undisturbed = false, drawn = false;

  const documents = (root = document, found = []) => {
    if (found.length >= FRAMES) return found;
    found.push(root);
    for (const view of root.querySelectorAll('iframe, frame')) {
      let inner = null;
      try { inner = view.contentDocument; } catch { /* another origin */ }
      if (inner) documents(inner, found);
      else strange = true;
    }
    return found;
  };
  const watch = (root) => {
    if (watched.has(root)) return;
    watched.add(root);
    const observer = new MutationObserver(() => {
      touched = performance.now();
      undisturbed = drawn = false;
    });
    observer.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
    observers.push(observer);
  };
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
  const ask = (view, begins = false) => {
    // Chains of frames are followed for so many, since some never end.
    const detail = {
      begins, early: frames < FOLLOWED, left: 0, unseen: false, still: 0, steady: false, drawn: false,
      later: setTimeout, frame: requestAnimationFrame, afterwards: window.requestIdleCallback,
    };
    view.dispatchEvent(new view.CustomEvent(name, { detail }));
    return detail;
  };
  // Own timers and frames are not among those that the page has announced.
  const { later, frame, afterwards } = ask(window);
  // Of a page that was opened by somebody else, timers are not known.
  const unknown = later === setTimeout;
  // The moment before which the page is not quiet, because what it has begun cannot be followed. A page
  // that may be answered unannounced, as by a database, has to be still longest; one of which all is
  // known, and whose requests are told at once (`exact`), need not be still at all.
  const unsure = () => {
    if (unseen) return touched + patient;
    if (unknown) return touched + Math.max(still, 100);
    return exact && !strange ? guessed + still : touched + still;
  };
  // The milliseconds until all that a document has announced is due.
  const announced = (root) => {
    if (!root.defaultView) return 0;
    const detail = ask(root.defaultView);
    unseen = unseen || detail.unseen === true;
    if (typeof detail.guessed === 'number') guessed = Math.max(guessed, performance.now() - Math.max(0, detail.guessed));
    else strange = true;
    const left = Math.min(Number(detail.left) || 0, soon);
    return Math.max(left, refreshes(root) || moves(root) ? AGAIN : 0);
  };
  const loading = (root) => root.readyState !== 'complete' || (root.fonts && root.fonts.status === 'loading');

  const finish = (quiet) => {
    if (over) return;
    over = true;
    for (const observer of observers) observer.disconnect();
    done({ quiet, undisturbed });
  };
  // The milliseconds until the page may be quiet.
  const left = () => {
    const roots = documents(), passed = performance.now() - began;
    roots.forEach(watch);
    const wait = roots.some(loading) ? AGAIN : 0, due = Math.max(...roots.map(announced));
    if (wait || due > 0) undisturbed = drawn = false;
    // What announces or changes something again and again is not waited for.
    return passed >= soon ? wait : Math.max(wait, unsure() - began - passed, due);
  };
  const look = () => {
    const wait = left();
    if (wait > FRAME) later(look, Math.min(wait - FRAME / 2, AGAIN));
    else if (drawn && wait > NEXT_TO_NOTHING) later(settle, wait);
    // What is left of a short wait passes while a frame is drawn.
    else settle();
  };
  // What is queued already comes first: a frame, unless nothing has happened since the page was
  // drawn; messages of a scheduler, idle callbacks.
  const settle = () => {
    let called = false;
    const rested = (undrawn) => {
      if (called) return;
      called = true;
      const wait = left();
      if (wait > FRAME) look();
      else if (wait > NEXT_TO_NOTHING) later(settle, wait);
      else if (drawn || undrawn || performance.now() - began >= soon) finish(true);
      else settle();
    };
    const end = () => (afterwards || later)(() => rested(false));
    if (drawn) end();
    else frame(() => {
      frames += 1;
      drawn = true;
      end();
    });
    // A page that is not drawn has no frames, and a busy one no time to spare.
    later(() => rested(true), patient);
  };
  // What has been still since it loaded need not be so for the whole time again.
  const heads = documents().map((root) => root.defaultView ? ask(root.defaultView, true) : {});
  touched -= Math.min(...heads.map((head) => Number(head.still) || 0));
  undisturbed = heads.every((head) => head.steady === true);
  drawn = undisturbed && heads.every((head) => head.drawn === true);
  later(() => finish(false), limit);
  look();
})
