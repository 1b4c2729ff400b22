// Limits what a page tells its developers: the number and length of console messages and of
// uncaught errors. Each crosses to the test process as an event, and a page can raise millions.
// Limits the bodies of requests as well, which cross as a whole and in base64.
() => {
  const MOST = 500, LONGEST = 10000, ERRORS = 200;
  let said = 0, errors = 0;
  const short = value => {
    if (typeof value === 'string') return value.length > LONGEST ? value.slice(0, LONGEST) + '…' : value;
    if (typeof value === 'bigint' || typeof value === 'symbol') return String(value).slice(0, 100);
    return value instanceof Error && String(value.stack).length > LONGEST
      ? String(value.stack).slice(0, LONGEST) + '…' : value;
  };
  for (const name of ['log', 'info', 'warn', 'error', 'debug', 'trace', 'dir', 'dirxml', 'table',
    'group', 'groupCollapsed', 'assert', 'count', 'timeLog', 'timeEnd']) {
    const tell = console[name];
    if (typeof tell !== 'function') continue;
    console[name] = (...items) => {
      if (++said <= MOST) tell.apply(console, items.slice(0, 50).map(short));
    };
  }
  const cut = (event, text) => {
    // What is prevented here is not reported, but the page's own handlers still hear of it.
    if (++errors > ERRORS || text.length > LONGEST) event.preventDefault();
    if (text.length > LONGEST) console.error('uncaught: ' + text.slice(0, 300));
  };
  const told = reason => {
    try {
      return reason instanceof Error ? String(reason.message) + String(reason.stack) : String(reason);
    } catch {
      return '';
    }
  };
  addEventListener('error', event => {
    if (event instanceof ErrorEvent) cut(event, String(event.message) + told(event.error));
  }, true);
  addEventListener('unhandledrejection', event => cut(event, told(event.reason)), true);

  const BODY = 25e6;
  const sum = values => [...values].reduce((all, value) => all + size(value), 0);
  const size = body => {
    if (typeof body === 'string') return body.length;
    if (body instanceof Blob) return body.size;
    if (body instanceof ArrayBuffer || ArrayBuffer.isView(body)) return body.byteLength;
    if (body instanceof FormData || body instanceof URLSearchParams) return sum(body.values());
    return 0;
  };
  const refused = () => new DOMException('The body of the request is too large.', 'NetworkError');
  const bounded = (owner, name, bodyOf, refuse) => {
    const made = owner && owner[name];
    if (typeof made !== 'function') return;
    owner[name] = new Proxy(made, {
      apply: (target, self, given) => size(bodyOf(given, self)) > BODY
        ? refuse() : Reflect.apply(target, self, given),
      construct: (target, given, kind) => {
        if (size(bodyOf(given)) > BODY) throw refused();
        return Reflect.construct(target, given, kind);
      },
    });
  };
  const fail = () => {
    throw refused();
  };
  bounded(window, 'fetch', given => given[1] && given[1].body, () => Promise.reject(refused()));
  bounded(window, 'Request', given => given[1] && given[1].body, fail);
  bounded(XMLHttpRequest.prototype, 'send', given => given[0], fail);
  bounded(navigator, 'sendBeacon', given => given[1], () => false);
  const form = self => self instanceof HTMLFormElement && new FormData(self);
  bounded(HTMLFormElement.prototype, 'submit', (_, self) => form(self), fail);
  addEventListener('submit', event => {
    if (size(form(event.target)) > BODY) event.preventDefault();
  }, true);
}
