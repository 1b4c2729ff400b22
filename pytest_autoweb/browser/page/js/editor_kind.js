// Tells whether an element is an editor that takes keys and has no value of its own to be filled.
({ dom, elements }) => {
  const [element] = elements;
  if (!element) return { editor: false, field: false, indents: false };
  const tag = dom.tag(element);
  const INDENTING = '.monaco-editor';
  const KNOWN = `.CodeMirror, .cm-editor, .ace_editor, ${INDENTING}`;
  const THIN_PX = 4;
  const thin = (node) => {
    const box = dom.rect(node);
    return box.width <= THIN_PX || box.height <= THIN_PX;
  };
  // Editors of code listen to a field that nobody sees; what it holds is not their text.
  const unseen = () => {
    if (dom.style(element).opacity === '0' || thin(element)) return true;
    const above = dom.parent(element);
    return Boolean(above) && dom.style(above).overflow === 'hidden' && thin(above);
  };
  const typed = ['input', 'textarea'].includes(tag);
  const known = Boolean(dom.closest(element, KNOWN));
  const editable = dom.closest(element, '[contenteditable]');
  const rich = !typed && (known || (Boolean(editable) && dom.editable(editable))
    || dom.attr(element, 'role') === 'textbox');
  return {
    editor: rich || (tag === 'textarea' && (known || unseen())),
    field: typed || (Boolean(editable) && dom.editable(editable)) || dom.has(element, 'tabindex'),
    indents: Boolean(dom.closest(element, INDENTING)),
  };
}
