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
  const due = new Map(), chained = new Set(), underway = new Map();
  let leaving = 0, unseen = false, guessed = -Infinity, touched = 0, steady = false, drawn = true;

  const announce = (id, delay) => {
    steady = false;
    if (due.size >= MOST) for (const [old, when] of due) if (when < now()) due.delete(old);
    if (due.size < MOST) due.set(id, now() + delay);
  };
  // A proxy looks like what it stands for, whatever a page asks of it. The page gets what `pass`
  // makes of the result.
  const replace = (owner, key, pass) => {
    const made = owner && owner[key];
    if (typeof made !== 'function') return;
    owner[key] = new Proxy(made, {
      apply: (target, self, given) => pass(given, Reflect.apply(target, self, given), self),
      construct: (target, given, kind) => pass(given, Reflect.construct(target, given, kind)),
    });
    if (made.prototype && made.prototype.constructor === made) made.prototype.constructor = owner[key];
  };
  const wrap = (owner, key, after) => replace(owner, key, (given, result, self) => {
    after(given, result, self);
    return result;
  });
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
  const isRecent = since => since > now() - soon;
  const busyWith = (work) => {
    steady = false;
    if (underway.size >= MOST) for (const [old, since] of underway) if (!isRecent(since)) underway.delete(old);
    if (underway.size < MOST) underway.set(work, now());
    return () => { underway.delete(work); };
  };
  const busy = () => [...underway.values()].some(isRecent);
  // The page gets a promise that comes after its own, so that a failure which it does not handle is
  // still told to it as such.
  const awaited = (given, result) => {
    if (!(result instanceof Promise)) return result;
    const ended = busyWith(result);
    return Reflect.apply(then, result, [
      (value) => {
        ended();
        return value;
      },
      (error) => {
        ended();
        throw error;
      },
    ]);
  };
  // What ends soon, at a time that nothing tells.
  const guess = () => {
    steady = false;
    guessed = now();
  };
  // What comes unannounced, if at all.
  const note = () => { unseen = true; };
  const each = (kinds, change, told) => {
    for (const [kind, methods] of Object.entries(kinds)) {
      for (const method of methods) change(window[kind] && (window[kind].prototype || window[kind]), method, told);
    }
  };
  each({
    Blob: ['arrayBuffer', 'text'],
    CookieStore: ['delete', 'get', 'getAll', 'set'],
    FontFace: ['load'],
    HTMLImageElement: ['decode'],
    NavigatorUAData: ['getHighEntropyValues'],
    OffscreenCanvas: ['convertToBlob'],
    Permissions: ['query'],
    Request: ['arrayBuffer', 'blob', 'formData', 'json', 'text'],
    Response: ['arrayBuffer', 'blob', 'formData', 'json', 'text'],
    Scheduler: ['yield'],
    StorageManager: ['estimate', 'getDirectory', 'persist', 'persisted'],
    SubtleCrypto: ['decrypt', 'deriveBits', 'deriveKey', 'digest', 'encrypt', 'exportKey', 'generateKey',
      'importKey', 'sign', 'unwrapKey', 'verify', 'wrapKey'],
    WebAssembly: ['compile', 'compileStreaming', 'instantiate', 'instantiateStreaming'],
  }, replace, awaited);
  for (const asked of ['createImageBitmap', 'fetch']) replace(window, asked, awaited);
  each({
    FileReader: ['readAsArrayBuffer', 'readAsBinaryString', 'readAsDataURL', 'readAsText'],
  }, wrap, (given, result, reader) => {
    Reflect.apply(listen, reader, ['loadend', busyWith(reader), { once: true }]);
  });
  each({ Scheduler: ['postTask'] }, replace, (given, result) =>
    given[1] && given[1].delay > soon ? result : awaited(given, result));
  each({ Document: ['startViewTransition'] }, wrap, (given, { finished }) => {
    const ended = busyWith(finished);
    Reflect.apply(then, finished, [ended, ended]);
  });
  const canvas = HTMLCanvasElement.prototype;
  canvas.toBlob = new Proxy(canvas.toBlob, {
    apply: (target, self, [callback, ...rest]) => {
      if (typeof callback !== 'function') return Reflect.apply(target, self, [callback, ...rest]);
      const ended = busyWith(callback);
      return Reflect.apply(target, self, [blob => {
        ended();
        callback(blob);
      }, ...rest]);
    },
  });
  each({
    Atomics: ['waitAsync'],
    Blob: ['stream'],
    Clipboard: ['read', 'readText', 'write', 'writeText'],
    FileSystemDirectoryHandle: ['getDirectoryHandle', 'getFileHandle'],
    FileSystemFileHandle: ['createWritable', 'getFile'],
    Geolocation: ['getCurrentPosition', 'watchPosition'],
    HTMLMediaElement: ['load', 'play'],
    History: ['back', 'forward', 'go'],
    LockManager: ['query', 'request'],
    MediaDevices: ['enumerateDevices', 'getUserMedia'],
    Navigation: ['back', 'forward', 'traverseTo'],
    ReadableStream: ['getReader', 'pipeThrough', 'pipeTo', 'tee', 'values'],
    ServiceWorkerContainer: ['getRegistration', 'getRegistrations', 'register'],
    XMLHttpRequest: ['send'],
  }, wrap, guess);
  for (const source of ['AudioContext', 'OfflineAudioContext', 'RTCPeerConnection', 'WebTransport', 'open']) {
    wrap(window, source, guess);
  }
  const onSetting = (kind, key, after) => {
    const owner = window[kind].prototype, accessor = Object.getOwnPropertyDescriptor(owner, key);
    wrap(accessor, 'set', after);
    Object.defineProperty(owner, key, accessor);
  };
  const loads = (given, result, element) => {
    if (element.loading === 'lazy') return;
    const ended = busyWith(element);
    for (const type of ['load', 'error']) Reflect.apply(listen, element, [type, ended, { once: true }]);
  };
  for (const kind of ['HTMLIFrameElement', 'HTMLImageElement', 'HTMLScriptElement']) onSetting(kind, 'src', loads);
  onSetting('HTMLIFrameElement', 'srcdoc', loads);
  onSetting('HTMLMediaElement', 'src', guess);
  for (const source of ['WebSocket', 'EventSource', 'Worker', 'SharedWorker', 'BroadcastChannel']) {
    wrap(window, source, note);
  }
  each({ IDBFactory: ['open'], CacheStorage: ['open', 'match'] }, wrap, note);
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
    steady = due.size + chained.size === 0 && !busy();
    begin();
    changes.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
    later(endHeadStart, HEAD_START_WITHIN);
  });
  addEventListener(name, event => {
    event.stopImmediatePropagation();
    let last = leaving ? leaving + soon : 0;
    for (const when of due.values()) last = Math.max(last, when, now() + OVERDUE);
    if (busy() || (chained.size && event.detail.early)) last = Math.max(last, now() + OVERDUE);
    const head = touched ? { still: now() - touched, steady, drawn } : {};
    if (event.detail.begins) endHeadStart();
    Object.assign(event.detail, { left: last - now(), unseen, guessed: now() - guessed, ...head, later, frame, afterwards });
  }, true);
}
