// Notes what a page has announced to do soon, for `quiet.js`, which asks by an event of this name.
// Runs before the page's own scripts, and in every frame.
({ name, soon }) => {
  const MOST = 500, TICK = 250, HEAD_START_WITHIN = 200, OVERDUE = 5, CHAIN = 5;
  const now = performance.now.bind(performance);
  const own = (key) => typeof window[key] === 'function' ? window[key].bind(window) : undefined;
  const later = own('setTimeout'), frame = own('requestAnimationFrame');
  const tasks = window.scheduler, post = tasks && tasks.postTask && tasks.postTask.bind(tasks);
  // Called when nothing else is queued.
  const afterwards = post
    ? callback => { post(callback, { priority: 'background' }).catch(() => {}); }
    : own('requestIdleCallback');
  const due = new Map(), chained = new Set(), underway = new Set();
  let leaving = 0, unseen = false, touched = 0, steady = false, drawn = true;

  const announce = (id, delay) => {
    steady = false;
    if (due.size >= MOST) for (const [old, when] of due) if (when < now()) due.delete(old);
    if (due.size < MOST) due.set(id, now() + delay);
  };
  // A proxy looks like what it stands for, whatever a page asks of it.
  const wrap = (owner, key, after) => {
    const made = owner && owner[key];
    if (typeof made !== 'function') return;
    const told = (given, result, self) => {
      after(given, result, self);
      return result;
    };
    owner[key] = new Proxy(made, {
      apply: (target, self, given) => told(given, Reflect.apply(target, self, given), self),
      construct: (target, given, kind) => told(given, Reflect.construct(target, given, kind)),
    });
    if (made.prototype && made.prototype.constructor === made) made.prototype.constructor = owner[key];
  };
  const delayOf = given => given[1] === undefined ? 0 : typeof given[1] === 'number' ? given[1] : Infinity;
  wrap(window, 'setTimeout', (given, id) => {
    if (delayOf(given) > soon) return;
    announce(id, delayOf(given) || 0);
    // On a busy machine it may be late. This one comes right after it.
    if (due.has(id)) later(() => due.delete(id), delayOf(given) || 0);
  });
  wrap(window, 'setInterval', (given, id) => {
    // What looks every moment whether something is there may soon find it; a clock goes on for ever.
    if (!(delayOf(given) > TICK)) announce(id, soon / 2);
  });
  for (const clear of ['clearTimeout', 'clearInterval']) wrap(window, clear, given => due.delete(given[0]));
  // A frame, or an idle moment, that is asked for in the one before is part of a chain. Those of
  // long chains come for ever.
  let depth = 0;
  const follow = (ask, cancel) => {
    if (!own(ask)) return;
    window[ask] = new Proxy(window[ask], {
      apply: (target, self, [callback, ...rest]) => {
        if (typeof callback !== 'function') return Reflect.apply(target, self, [callback, ...rest]);
        const link = {}, mine = depth + 1;
        const run = (...given) => {
          const before = depth;
          chained.delete(link.key);
          depth = mine;
          try {
            return Reflect.apply(callback, undefined, given);
          } finally {
            depth = before;
          }
        };
        const id = Reflect.apply(target, self, [run, ...rest]);
        link.key = `${ask} ${id}`;
        steady = false;
        if (mine <= CHAIN && chained.size < MOST) chained.add(link.key);
        return id;
      },
    });
    wrap(window, cancel, given => chained.delete(`${ask} ${given[0]}`));
  };
  follow('requestAnimationFrame', 'cancelAnimationFrame');
  follow('requestIdleCallback', 'cancelIdleCallback');
  // What is read or computed beside the page's own thread, or put off, ends at a time of its own.
  const { Promise } = window, { then } = Promise.prototype, { addEventListener: listen } = EventTarget.prototype;
  const busyWith = (work) => {
    steady = false;
    if (underway.size < MOST) underway.add(work);
    return () => { underway.delete(work); };
  };
  const awaited = (given, result) => {
    if (!(result instanceof Promise)) return;
    const ended = busyWith(result);
    Reflect.apply(then, result, [ended, ended]);
  };
  const AWAITED = {
    Blob: ['arrayBuffer', 'text'],
    HTMLImageElement: ['decode'],
    Response: ['arrayBuffer', 'blob', 'formData', 'json', 'text'],
    SubtleCrypto: ['decrypt', 'deriveBits', 'deriveKey', 'digest', 'encrypt', 'exportKey', 'generateKey',
      'importKey', 'sign', 'unwrapKey', 'verify', 'wrapKey'],
  };
  for (const [kind, methods] of Object.entries(AWAITED)) {
    for (const method of methods) wrap(window[kind] && window[kind].prototype, method, awaited);
  }
  wrap(window, 'createImageBitmap', awaited);
  for (const method of ['readAsArrayBuffer', 'readAsBinaryString', 'readAsDataURL', 'readAsText']) {
    wrap(window.FileReader && FileReader.prototype, method, (given, result, reader) => {
      Reflect.apply(listen, reader, ['loadend', busyWith(reader), { once: true }]);
    });
  }
  wrap(window.Scheduler && Scheduler.prototype, 'postTask', (given, result) => {
    if (!(given[1] && given[1].delay > soon)) awaited(given, result);
  });
  // What these bring comes unannounced.
  const note = () => { unseen = true; };
  for (const source of ['WebSocket', 'EventSource', 'Worker', 'SharedWorker', 'BroadcastChannel']) {
    wrap(window, source, note);
  }
  wrap(window.IDBFactory && IDBFactory.prototype, 'open', note);
  for (const method of ['open', 'match']) wrap(window.CacheStorage && CacheStorage.prototype, method, note);
  if (window.navigation) {
    navigation.addEventListener('navigate', event => {
      if (!event.destination.sameDocument && event.downloadRequest === null) leaving = now();
    });
  }
  // Whoever waits for a page that has just loaded begins some milliseconds later. What has been
  // still since then is a head start, which the first wait uses up: for how long, whether it was
  // `drawn`, and whether it was `steady`, with nothing announced or changed since the page loaded.
  const changes = new MutationObserver(() => {
    steady = false;
    begin();
  });
  const begin = () => {
    touched = now();
    if (drawn && frame) frame(() => { drawn = true; });
    drawn = false;
  };
  const endHeadStart = () => {
    changes.disconnect();
    touched = 0;
  };
  addEventListener('load', event => {
    if (!event.isTrusted) return;
    steady = due.size + chained.size + underway.size === 0;
    begin();
    changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    later(endHeadStart, HEAD_START_WITHIN);
  });
  addEventListener(name, event => {
    event.stopImmediatePropagation();
    let last = leaving ? leaving + soon : 0;
    for (const when of due.values()) last = Math.max(last, when, now() + OVERDUE);
    if (underway.size || (chained.size && event.detail.early)) last = Math.max(last, now() + OVERDUE);
    const head = touched ? { still: now() - touched, steady, drawn } : {};
    if (event.detail.begins) endHeadStart();
    Object.assign(event.detail, { left: last - now(), unseen, ...head, later, frame, afterwards });
  }, true);
}
