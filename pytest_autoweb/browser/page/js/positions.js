// Returns the indexes of the listed elements that a locator finds, with -1 for any other element.
({ elements }, listed) => {
  // Without methods of arrays, which a page may have replaced.
  const found = [];
  for (let at = 0; at < elements.length; at += 1) {
    found[at] = -1;
    for (let i = 0; i < listed.elements.length; i += 1) {
      if (listed.elements[i] === elements[at]) found[at] = i;
    }
  }
  return found;
}
