// Limits what a page tells its developers: the number and length of console messages and of
// uncaught errors. Each crosses to the test process as an event, and a page can raise millions.
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
}
