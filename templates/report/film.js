/* The page of `autoweb debug locate`, which shows one search as a film. */

import { el } from "./dom.js";
import { film } from "./locations.js";

const { location: search, pictures } = JSON.parse(document.getElementById("data").textContent);
const zoom = document.getElementById("zoom");
zoom.addEventListener("click", (event) => event.target === zoom && zoom.close());
document.getElementById("main").append(el("h1", "Found by sight"), film(search, {
  source: (path) => pictures[path],
  fileLink: (path) => el("a", { href: path }, path),
  enlarge(label, picture) {
    zoom.replaceChildren(el("form", { method: "dialog" }, el("span.small.soft", label), el("button.quiet", "Close")), picture);
    zoom.showModal();
  },
}));
document.querySelector(".film").focus();
