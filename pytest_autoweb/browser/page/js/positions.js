// Returns the indexes of the listed elements that a locator finds, with -1 for any other element.
({ elements }, listed) => elements.map((element) => listed.elements.indexOf(element))
