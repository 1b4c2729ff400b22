// Returns the content of each of the given fields.
({ dom, elements }) => elements.map(dom.held)
