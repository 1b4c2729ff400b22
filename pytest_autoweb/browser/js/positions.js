// Which of the listed elements a locator finds, as indexes; -1 for strangers.
({ elements }, listed) => elements.map((element) => listed.elements.indexOf(element))
