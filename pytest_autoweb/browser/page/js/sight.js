// Tells whether an element can be pressed now, or is covered, clipped or invisible.
(dom) => {
  const port = [0, 0, window.innerWidth, window.innerHeight];
  const meet = (a, b) => [Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]),
    Math.min(a[3], b[3])];
  const wide = (r) => r[2] - r[0];
  const high = (r) => r[3] - r[1];
  const empty = (r) => wide(r) <= 0 || high(r) <= 0;
  const edges = (box) => [box.left, box.top, box.right, box.bottom];
  const contains = (outer, node) => {
    for (let at = node; at; at = dom.parent(at)) if (at === outer) return true;
    return false;
  };

  // What an element's ancestors do to it: their opacity, and what they cut off. `seen` are the clips
  // of all boxes, `hard` those of boxes that a person cannot scroll; each for children that are
  // placed normally, absolutely and fixed.
  const EVERYWHERE = [-1e9, -1e9, 1e9, 1e9];
  const free = [EVERYWHERE, EVERYWHERE, EVERYWHERE];
  const ROOT = { opacity: 1, seen: free, hard: free, gone: '', fixed: false, scrolled: false };
  const known = new Map();
  const cutAway = (css) => {
    const parts = css.position === 'absolute' || css.position === 'fixed'
      ? /^rect\((.*)\)$/.exec(css.clip || '') : null;
    const [top, right, bottom, left] = parts ? parts[1].split(/[ ,]+/).map(parseFloat) : [];
    return (parts && (right - left <= 1 || bottom - top <= 1))
      || /^inset\((?:50|100)%/.test(css.clipPath || '');
  };
  const isPlain = (css) => css.position === 'static' && css.overflowX === 'visible'
    && css.overflowY === 'visible' && css.opacity === '1' && css.transform === 'none'
    && css.clipPath === 'none';
  // Most elements do nothing to what is in them, so they share what is known.
  const shelter = (element, above, css) => {
    if (!isPlain(css)) return made(element, above, css);
    above.plain ??= made(element, above, css);
    return above.plain;
  };
  const made = (element, above, css) => {
    const tag = dom.tag(element);
    const place = { absolute: 1, fixed: 2 }[css.position] || 0;
    const opacity = above.opacity * Number(css.opacity);
    const own = { opacity, fixed: above.fixed || css.position === 'fixed',
      sticky: above.sticky || css.position === 'sticky', scrolled: above.scrolled,
      gone: above.gone || (cutAway(css) ? 'invisible' : '') };
    let seen = above.seen[place];
    let hard = above.hard[place];
    const boxed = css.display !== 'inline' && css.display !== 'contents';
    const cuts = boxed && tag !== 'html' && tag !== 'body'
      && (css.overflowX !== 'visible' || css.overflowY !== 'visible');
    own.at = [seen, hard];
    if (cuts) {
      const box = edges(dom.rect(element));
      const scrolls = /auto|scroll/.test(css.overflowX + css.overflowY);
      seen = meet(seen, box);
      if (wide(box) <= 1 || high(box) <= 1) own.inside = 'invisible';
      if (scrolls) own.scrolled = true;
      hard = scrolls ? EVERYWHERE : meet(hard, box);
    }
    const holds = css.position !== 'static' || css.transform !== 'none';
    const moves = css.transform !== 'none';
    own.seen = [seen, holds ? seen : above.seen[1], moves ? seen : above.seen[2]];
    own.hard = [hard, holds ? hard : above.hard[1], moves ? hard : above.hard[2]];
    own.below = own.inside && !own.gone ? { ...own, gone: own.inside } : own;
    return own;
  };
  const about = (element, style) => {
    const found = known.get(element);
    if (found) return found;
    const chain = [];
    let at = element;
    for (; at && !known.has(at); at = dom.parent(at)) chain.push(at);
    let above = at ? known.get(at).below : ROOT;
    for (const node of chain.reverse()) {
      const own = shelter(node, above, node === element && style ? style : dom.style(node));
      known.set(node, own);
      above = own.below;
    }
    return known.get(element);
  };

  const hitAt = (x, y) => {
    let hit = document.elementFromPoint(x, y);
    for (let depth = 0; hit && dom.shadow(hit) && depth < 30; depth += 1) {
      const inner = dom.shadow(hit).elementFromPoint(x, y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    return hit;
  };
  const labelled = (hit, element) => {
    for (let at = hit; at; at = dom.parent(at)) {
      if (dom.tag(at) === 'label' && at.control === element) return true;
    }
    return false;
  };
  // Everything beside such a dialog is inert; beside others, what lies above them is not.
  const alone = dom.query(document, 'dialog').filter((d) => dom.matches(d, ':modal')).pop() || null;
  const modal = alone || dom.query(document, '[aria-modal=true]').filter((d) => dom.visible(d)
    && !empty(meet(edges(dom.rect(d)), port)) && about(d).opacity > 0.1).pop() || null;
  const POINTS = [[0.5, 0.5], [0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2]];
  let overlay = null;
  const hits = new Map();
  // A bar that stays at an edge gives way when the page is scrolled.
  const stays = (hit) => {
    const around = about(hit);
    let top = null;
    for (let at = hit; at; at = dom.parent(at)) {
      if (['fixed', 'sticky', 'absolute'].includes(dom.style(at).position)) top = top || at;
    }
    const box = top ? meet(edges(dom.rect(top)), port) : null;
    if (box && around.fixed && wide(box) * high(box) > 0.9 * wide(port) * high(port)) overlay = top;
    return !(around.fixed || around.sticky) || !box || high(box) > high(port) / 2;
  };
  const shownPart = (element, clip) => {
    const rects = Array.from(Element.prototype.getClientRects.call(element)).slice(0, 20);
    const parts = rects.map((r) => meet(meet(edges(r), clip), port)).filter((r) => !empty(r));
    return parts.sort((a, b) => wide(b) * high(b) - wide(a) * high(a))[0] || null;
  };
  const inert = (element) => alone && !contains(alone, element);
  const covered = (element, part) => {
    let last = null;
    for (const [x, y] of POINTS) {
      const hit = hitAt(part[0] + wide(part) * x, part[1] + high(part) * y);
      if (!hit || contains(element, hit) || contains(hit, element) || labelled(hit, element)) {
        return false;
      }
      last = hit;
    }
    hits.set(element, last);
    return (modal && contains(modal, last)) || stays(last);
  };
  const small = (element, box) => (wide(box) <= 1 || high(box) <= 1)
    && (dom.style(element).overflowX !== 'visible' || !dom.query(element, '*').some((inner) => {
      const r = dom.rect(inner);
      return r.width > 1 && r.height > 1;
    }));
  const away = (element, box, around) => {
    if (around.scrolled) return false;
    return around.fixed ? empty(meet(box, port)) : !dom.reachable(element);
  };
  const verdict = (element) => {
    const around = about(element);
    const [seen, hard] = around.at;
    const box = edges(dom.rect(element));
    if (around.gone || small(element, box) || away(element, box, around)) return 'invisible';
    if (empty(meet(box, hard)) && !empty(box)) return 'clipped';
    if (inert(element)) return 'covered';
    const part = shownPart(element, seen);
    if (part && covered(element, part)) return 'covered';
    // Many controls appear only under the pointer, and can be pressed all the same.
    if (around.opacity < 0.1 && dom.tag(element) !== 'input') return 'transparent';
    if (part) return '';
    return modal && !contains(modal, element) ? 'covered' : 'unseen';
  };
  const byLabel = (element) => Array.from(element.labels || []).some((label) => dom.visible(label)
    && verdict(label) === '');

  // Which layer lies over a covered element: the outermost that is placed above the page.
  const layerOver = (element) => {
    const hit = hits.get(element);
    let top = null;
    for (let at = hit; at && !contains(at, element); at = dom.parent(at)) top = at;
    return modal && hit && contains(modal, hit) ? modal : top;
  };
  // The verdict on an element that is neither seen nor covered depends on what was found elsewhere.
  const settled = (element, said) => {
    const hides = overlay && said === 'unseen' && !contains(overlay, element);
    return hides ? 'covered' : said === 'unseen' ? '' : said;
  };
  const judged = (element) => {
    const field = ['input', 'select', 'textarea'].includes(dom.tag(element));
    const said = verdict(element);
    return ['invisible', 'covered'].includes(said) && field && byLabel(element) ? 'by label' : said;
  };
  const inFront = (dialog) => {
    const part = dom.visible(dialog) ? shownPart(dialog, EVERYWHERE) : null;
    const hit = part && hitAt((part[0] + part[2]) / 2, (part[1] + part[3]) / 2);
    return Boolean(hit) && contains(dialog, hit);
  };
  const front = () => modal || (overlay
    && dom.query(document, 'dialog, [role=dialog], [role=alertdialog]').filter(inFront).pop()) || null;
  const overlaid = () => Boolean(modal || overlay);
  return { about, judged, settled, layerOver, front, overlaid, contains };
}
