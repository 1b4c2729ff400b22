/* What a step saw: pictures that its code asked for to show them to the model, and what it found by sight. */

import { el, percent, text } from "./dom.js";

/* Return what a picture shows, in words. */
function shownIn({ box: [x, y, width, height] }, n, many) {
  const which = many ? `Picture ${n + 1} for the model` : "Picture for the model";
  const place = x || y ? ` at ${Math.round(x)}, ${Math.round(y)}` : "";
  return `${which}: ${Math.round(width)} × ${Math.round(height)} pixels${place}`;
}

const foundBySight = (location) => location.status === "found"
  ? [text(location.element), `, ${percent(location.confidence)} sure`]
  : ["nothing", location.reason && [" (", text(location.reason), ")"]];

/* Return the pictures and findings of one step; null if there are none. */
export function seenInStep(a, index, shot) {
  const looks = (a.looks ?? []).filter((look) => look.step_index === index && look.picture);
  const searches = a.locations.filter((location) => location.step_index === index);
  if (!looks.length && !searches.length) return null;
  return el("div.looks",
    searches.map((location) => el("p.small", "By sight: “", text(location.description), "” is ", foundBySight(location))),
    looks.length > 0 && el("div.shots", looks.map((look, n) => {
      const label = shownIn(look, n, looks.length > 1);
      return el("figure", shot(look.picture, label), el("figcaption", label));
    })));
}
