// Tells whether a picture of the document needs no preparation: no private field is filled in, no
// animation is under way, and a pixel is one of the page. Sees nothing in shadow trees.
(dom) => (covered) => {
  const filled = (field) => dom.value(field) !== '' || field.validity.badInput;
  const moves = document.getAnimations().some((one) => one.playState === 'running');
  return !moves && devicePixelRatio === 1 && !dom.query(document, covered).some(filled);
}
