// Lays a consent banner over the bottom of the window, until one of its buttons is pressed.
// Takes `{text, share}`, the share of its height in percent. Runs before the page's own scripts, in every document.
({ text, share }) => {
  if (window.top !== window) return;
  const KEY = "autoweb-consent";
  const answered = () => {
    try {
      return sessionStorage.getItem(KEY) !== null;
    } catch {
      return false;
    }
  };
  const keep = (word) => {
    try {
      sessionStorage.setItem(KEY, word);
    } catch {
      // A document without storage asks again.
    }
  };
  const show = () => {
    if (answered() || !document.body) return;
    const banner = document.createElement("div");
    banner.setAttribute("role", "dialog");
    banner.setAttribute("aria-label", "Cookies");
    // Set one by one, as a content security policy refuses a style in the markup.
    Object.assign(banner.style, {
      position: "fixed",
      left: "0",
      right: "0",
      bottom: "0",
      height: `${share}vh`,
      boxSizing: "border-box",
      padding: "16px",
      background: "#fff",
      color: "#111",
      border: "2px solid #333",
      zIndex: "2147483647",
    });
    const said = document.createElement("p");
    said.textContent = text;
    banner.append(said);
    for (const word of ["Accept all", "Only necessary"]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = word;
      button.addEventListener("click", () => {
        keep(word);
        banner.remove();
      });
      banner.append(button);
    }
    document.body.append(banner);
  };
  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", show, { once: true });
  } else {
    show();
  }
};
