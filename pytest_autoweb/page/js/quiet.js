// Waits until the document has not changed for a moment, within a limit.
(tools, { still, limit }) => new Promise((done) => {
  let timer = 0;
  const finish = () => {
    observer.disconnect();
    clearTimeout(timer);
    done(true);
  };
  const again = () => {
    clearTimeout(timer);
    timer = setTimeout(finish, still);
  };
  const observer = new MutationObserver(again);
  observer.observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  setTimeout(finish, limit);
  again();
})
