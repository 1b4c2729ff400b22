// Tells what only a look at an element says: a state that is its class, what a picture is called,
// the text of a code editor, how much a box hides.
(dom) => {
  const CLASSES = /(?:^|[-_])(active|selected|checked|current)$/;
  const EDITORS = '.CodeMirror, .cm-editor, .monaco-editor, .ace_editor';
  const EDITOR_LINES = '.CodeMirror-line, .cm-line, .view-line, .ace_line';
  const classState = (element, clickable) => {
    const classes = (dom.attr(element, 'class') || '').toLowerCase().split(/\s+/).filter(Boolean);
    const found = classes.map((word) => (CLASSES.exec(word) || [])[1]).find(Boolean)
      || (classes.includes('on') ? 'on' : '');
    const toggles = clickable && classes.some((word) => /toggle|switch|checkbox/.test(word));
    if (toggles) return [found ? 'on' : 'off'];
    return found ? [found] : [];
  };
  const title = (element, tag) => {
    const inner = tag === 'svg' ? dom.query(element, 'title')[0] : null;
    return dom.clean(dom.attr(element, 'aria-label') || dom.attr(element, 'title')
      || (inner ? inner.textContent : '') || '');
  };
  const isEditor = (element) => dom.has(element, 'class') && dom.matches(element, EDITORS);
  const editorKind = (element) => {
    if (!isEditor(element)) return '';
    return dom.matches(element, '.monaco-editor') ? 'indents' : 'plain';
  };
  // The field that an editor listens to; what it holds is not the editor's text.
  const editorField = (element) => dom.query(element, 'textarea, [contenteditable=true]')[0] || element;
  const editorText = (element, lines = dom.query(element, EDITOR_LINES)) => lines.slice(0, 2000)
    .map((line) => [dom.rect(line).top, (line.textContent || '').replace(/[\u200b\u00a0]/g, ' ')])
    .sort((a, b) => a[0] - b[0]).map(([, text]) => text.trimEnd()).join('\n');
  const richText = (element) => (HTMLElement.prototype.hasOwnProperty.call(element, 'innerText')
    ? element.textContent : element.innerText || element.textContent || '');
  // Returns the pixels above and below what a box shows, and the height of a row of it.
  const scrolled = (element, css) => {
    if (!/auto|scroll/.test(css.overflowY) || element.clientHeight < 30) return null;
    const below = element.scrollHeight - element.clientHeight - element.scrollTop;
    const above = element.scrollTop;
    if (below < 8 && above < 8) return null;
    let list = element;
    for (let depth = 0; depth < 4; depth += 1) {
      const inner = dom.children(list).filter((one) => dom.isElement(one) && dom.rect(one).height > 0);
      if (inner.length !== 1) break;
      [list] = inner;
    }
    const rows = dom.children(list).filter((one) => dom.isElement(one) && dom.rect(one).height > 4);
    const height = rows.length > 2
      ? rows.slice(0, 50).reduce((sum, row) => sum + dom.rect(row).height, 0) / Math.min(50, rows.length)
      : 0;
    return [Math.round(above), Math.round(below), Math.round(height)];
  };
  return { classState, title, isEditor, editorKind, editorField, editorText, richText, scrolled };
}
