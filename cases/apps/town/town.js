/* What all pages of the town share. */

/* Tells the server what was done, and shows it. */
async function deed(what, item = "", detail = "") {
  await fetch("/deeds", { method: "POST", body: JSON.stringify({ what, item, detail }) });
  const said = document.querySelector(".said");
  if (said) said.textContent = `${what}: ${[item, detail].filter(Boolean).join(", ")}`;
}

function make(name, properties = {}, ...children) {
  const node = Object.assign(document.createElement(name), properties);
  node.append(...children);
  return node;
}

const banner = document.querySelector("header");
banner.append(
  make("b", { textContent: banner.dataset.title || "Millbrook" }),
  ...(banner.dataset.links || "Home,News,Events,Contact").split(",").map((name) => make("a", { href: "#", textContent: name })),
);
