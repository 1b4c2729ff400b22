// Returns the values of password-like fields, so that they can be removed from snapshots.
({ dom }) => {
  const found = new Set();
  const walk = (root, depth) => {
    for (const element of dom.query(root, '*')) {
      const inner = dom.shadow(element);
      if (inner && depth < 20) walk(inner, depth + 1);
      if (dom.tag(element) !== 'input' || !dom.isSecret(element)) continue;
      const type = (dom.attr(element, 'type') || '').toLowerCase();
      if (type !== 'hidden' && dom.value(element)) found.add(dom.value(element));
    }
  };
  walk(document, 0);
  return Array.from(found);
}
