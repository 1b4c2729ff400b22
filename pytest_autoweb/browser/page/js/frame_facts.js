// Returns what decides whether a step means this frame: names of controls, text, readiness.
({ dom, aria }) => {
  const CONTROLS = 'a[href], button, input, select, textarea, summary, [role], [onclick], '
    + '[tabindex], [contenteditable=""], [contenteditable="true"]';
  const PASSIVE = new Set(['presentation', 'none', 'img', 'heading', 'region', 'main', 'banner',
    'navigation', 'contentinfo', 'document', 'article', 'list', 'listitem', 'group', 'table',
    'row', 'rowgroup', 'status', 'alert', 'form', 'search', 'complementary']);
  const controls = [];
  const walk = (root, depth) => {
    for (const element of dom.query(root, '*')) {
      if (controls.length >= 400) return;
      const inner = dom.shadow(element);
      if (inner && depth < 10) walk(inner, depth + 1);
      if (!dom.matches(element, CONTROLS) || !dom.visible(element)) continue;
      const role = aria.role(element);
      if (role && PASSIVE.has(role)) continue;
      controls.push(`${role || 'clickable'} ${aria.name(element, role)}`.slice(0, 200));
    }
  };
  walk(document, 0);
  const body = document.body;
  return {
    ready: document.readyState === 'complete',
    controls,
    text: body ? String(body.innerText || '').slice(0, 50000) : '',
  };
}
