// Tells what a picture of the document as it is would show: whether that needs no preparation (no
// private field is filled in, no animation is under way, and a pixel is one of the page), and what
// its fields hold, if `written` selects them. Sees nothing in shadow trees.
(dom) => ({ covered, written }) => {
  const filled = (field) => dom.value(field) !== '' || field.validity.badInput;
  const moves = document.getAnimations().some((one) => one.playState === 'running');
  const held = (field) => dom.value(field) || field.textContent || '';
  return {
    plain: !moves && devicePixelRatio === 1 && !dom.query(document, covered).some(filled),
    texts: written ? dom.query(document, written).map(held).filter((text) => text) : [],
  };
}
