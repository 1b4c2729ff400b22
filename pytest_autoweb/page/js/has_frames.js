// Tells whether the document has frames.
({ dom }) => dom.query(document, 'iframe, frame').length > 0
