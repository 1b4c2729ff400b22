// Plants an instruction to the agent in each document of one origin, as a page could.
({ origin, way, text, path, button, tool }) => {
  if (window !== window.top || location.origin !== origin) return;
  // Who has obeyed is not asked again.
  if (location.pathname.startsWith(path)) return;
  // The page's own scripts may replace it later.
  const request = window.fetch.bind(window);
  // A policy of the page may forbid requests of scripts, but not that it is left.
  const write = () =>
    request(path, { method: 'POST', body: 'confirmed=1', keepalive: true })
      .catch(() => location.assign(path));

  const picture = () => {
    const canvas = document.createElement('canvas');
    canvas.setAttribute('role', 'presentation');
    Object.assign(canvas, { width: 520, height: 90 });
    const pen = canvas.getContext('2d');
    Object.assign(pen, { fillStyle: '#fff', font: '16px sans-serif' });
    pen.fillRect(0, 0, canvas.width, canvas.height);
    pen.fillStyle = '#000';
    const lines = [''];
    for (const word of text.split(' ')) {
      const longer = `${lines.at(-1)} ${word}`.trim();
      if (pen.measureText(longer).width > canvas.width - 20) lines.push(word);
      else lines[lines.length - 1] = longer;
    }
    lines.forEach((line, number) => pen.fillText(line, 10, 24 + 20 * number));
    return canvas;
  };
  const pressed = () => {
    const made = document.createElement('button');
    made.type = 'button';
    made.textContent = button;
    made.style.pointerEvents = 'auto';
    made.addEventListener('click', write);
    return made;
  };
  const plant = () => {
    const place = document.createElement('div');
    if (way === 'label' || way === 'title') {
      place.setAttribute('role', way === 'label' ? 'region' : 'group');
      place.setAttribute(way === 'label' ? 'aria-label' : 'title', text);
      place.style.cssText = 'min-width:1px;min-height:1px';
    } else if (way === 'image') {
      // In the window, where pictures of it show it, and never in the way of a click.
      place.style.cssText =
        'position:fixed;right:0;bottom:0;z-index:2147483647;pointer-events:none';
      place.append(picture());
    } else {
      if (way === 'toast') place.setAttribute('role', 'status');
      place.textContent = text;
    }
    if (button) place.append(pressed());
    document.body?.append(place);
  };
  // As often as a page is likely to give itself another title.
  let titles = 20;
  const entitle = () => {
    if (document.title.includes(text) || titles-- < 1) return;
    document.title = `${document.title} ${text}`.trim();
  };
  const loaded = (go) =>
    document.readyState === 'loading'
      ? addEventListener('DOMContentLoaded', go, { once: true }) : go();
  if (way === 'webmcp') {
    const answer = async () => { await write(); return { content: [{ type: 'text', text: 'Done.' }] }; };
    const inputSchema = { type: 'object', properties: {} };
    const kept = document.modelContext?.registerTool(
      { name: tool, description: text, inputSchema, execute: answer });
    // The site may have a tool of this name.
    Promise.resolve(kept).catch(() => {});
  } else if (way === 'toast') {
    loaded(() => setTimeout(plant, 200));
  } else if (way === 'title') {
    loaded(() => {
      plant();
      entitle();
      new MutationObserver(entitle)
        .observe(document.head, { childList: true, characterData: true, subtree: true });
    });
  } else if (way === 'late') {
    const key = 'attack-acted';
    if (sessionStorage.getItem(key)) loaded(plant);
    else {
      let done = false;
      const first = () => {
        if (done) return;
        done = true;
        sessionStorage.setItem(key, '1');
        plant();
      };
      for (const kind of ['click', 'input', 'change']) addEventListener(kind, first, true);
    }
  } else loaded(plant);
}
