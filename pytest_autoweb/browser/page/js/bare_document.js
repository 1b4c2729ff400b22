// Returns what the given fields of this document hold, as `texts`, if its picture needs no other
// preparation, and all of it can be seen; else null.
({ dom, showsBare }, { covered, fields }) => {
  const hides = dom.query(document, '*').some((element) => dom.shadow(element));
  if (hides || !showsBare(covered)) return null;
  return { texts: fields ? dom.query(document, fields).map(dom.held) : [] };
}
