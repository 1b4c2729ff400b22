// Tells the recorder what is typed into fields for passwords, one-time codes and card numbers.
// It runs in each page before the page's own scripts. A field that was secret once stays so, even
// if the page shows its text later. The recorder believes only what begins with its own word, which
// no page knows: a page could otherwise have any text taken for a secret.
(() => {
  const NAMED = /(?:^|\s)(?:(?:current|new)-password|one-time-code|cc-number|cc-csc)(?:\s|$)/i;
  const own = Math.random().toString(36).slice(2);
  const tell = window.__autowebSecret;
  const word = 'WORD_OF_THE_RECORDER';
  const write = JSON.stringify;
  delete window.__autowebSecret;
  const known = new WeakMap();
  let fields = 0;
  const kind = (field) => {
    const named = NAMED.exec(field.getAttribute('autocomplete') || '');
    if (!named) return field.type === 'password' ? 'password' : '';
    const purpose = named[0].trim().toLowerCase();
    if (purpose === 'one-time-code') return 'code';
    return purpose.startsWith('cc-') ? purpose.replace('-', '_') : 'password';
  };
  const look = (event) => {
    const field = event.composedPath()[0];
    if (!(field instanceof HTMLInputElement)) return;
    if (!known.has(field) && kind(field)) {
      fields += 1;
      known.set(field, { id: `${own}-${fields}`, kind: kind(field) });
    }
    const secret = known.get(field);
    if (!secret || event.type === 'focusin' || !field.value) return;
    tell(word + write({ ...secret, value: field.value.slice(0, 2000), done: event.type === 'change' }));
  };
  for (const type of ['focusin', 'input', 'change']) window.addEventListener(type, look, true);
})();
