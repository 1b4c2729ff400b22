/* Searches of the vision locator as films: pictures with lines, answers and remaining candidates. */

import { count, el, icon, percent, plural, text } from "./dom.js";

const ENDS = {
  found: ["passed", "passed", "found"],
  ambiguous: ["ungraded", "ungraded", "several fit"],
  not_found: ["failed", "failed", "not found"],
  inconsistent: ["broken", "broken", "the answers contradict each other"],
  budget: ["broken", "skipped", "still not sure when all calls were used"],
};
const KINDS = {
  vertical: "On which side of the vertical line?", horizontal: "On which side of the horizontal line?", both: "On which side of each line?",
  combined: "On which side of each line, and in which box?", pick: "In which box?", confirm: "Is it this one?", look: "Is it there at all?",
};
const FRAME_MS = 1600;

export function locationsPart(a, views) {
  if (!a.locations.length) return null;
  return el("section.part.locations", el("h3", "Found by sight", el("span.small", plural(a.locations.length, "search", "searches"))),
    el("ol", a.locations.map((location) => el("li", film(location, views)))));
}

/* Show one search. The arrow keys, Home and End change the picture. */
export function film(location, { source, fileLink, enlarge }) {
  const [tone, sign, says] = ENDS[location.status];
  const stage = el("div.film-stage"), told = el("div.film-told", { "aria-live": "polite" });
  const frames = location.probes;
  let at = 0, timer = 0;

  const show = (to) => {
    at = Math.max(0, Math.min(frames.length - 1, to));
    stage.replaceChildren(screen(location, frames[at], at === frames.length - 1, { source, fileLink, enlarge }));
    told.replaceChildren(...frameFacts(location, frames[at], at));
    [...dots.children].forEach((dot, i) => dot.firstChild.setAttribute("aria-current", String(i === at)));
    before.disabled = at === 0;
    after.disabled = at === frames.length - 1;
    if (at === frames.length - 1) pause();
  };
  const pause = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Play";
  };
  const start = () => {
    if (at === frames.length - 1) show(0);
    play.textContent = "Pause";
    timer = setInterval(() => (node.isConnected ? show(at + 1) : pause()), FRAME_MS);
  };
  const button = (label, act) => el("button.quiet", { type: "button", on: { click: act } }, label);
  const before = button("Back", () => { pause(); show(at - 1); });
  const after = button("On", () => { pause(); show(at + 1); });
  const play = button("Play", () => (timer ? pause() : start()));
  const dots = el("ol.film-dots", frames.map((probe, i) => el("li", el("button.quiet", { type: "button", "aria-label": `Picture ${i + 1}`, on: { click: () => { pause(); show(i); } } }, String(i + 1)))));

  const facts = [plural(location.candidates, "candidate"), plural(location.calls, "model call"), location.algorithm, location.cached && "answered from an earlier search of the same page state"];
  const node = el("div.card.film.is-" + tone, { tabindex: frames.length ? 0 : null, role: "group", "aria-label": `Search: ${location.description}` },
    el("div.film-head", el("b", text(location.description)), el("span.how", icon(sign), says)),
    el("p.small", location.status === "found" && [text(location.element), ", ", percent(location.confidence), " sure. "], text(location.reason)),
    el("p.soft.small", facts.filter(Boolean).join(" · ")),
    frames.length > 0 && [stage, told, frames.length > 1 && el("div.film-controls", before, play, after, dots)]);
  const keys = { ArrowLeft: () => at - 1, ArrowRight: () => at + 1, Home: () => 0, End: () => frames.length - 1 };
  node.addEventListener("keydown", (event) => {
    if (!(event.key in keys) || !frames.length || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    event.stopPropagation();
    pause();
    show(keys[event.key]());
  });
  if (frames.length) show(0);
  return node;
}

function screen(location, probe, last, { source, fileLink, enlarge }) {
  if (!probe.picture) return el("p.soft.small", "no picture was kept");
  const data = source(probe.picture);
  if (!data) return el("p.soft.small", "picture in ", fileLink(probe.picture));
  const label = `Picture ${probe.index}: ${probe.answer || "no readable answer"}`;
  const view = () => el("span.spotted", el("img", { src: data, alt: label }), last && ring(location));
  return el("button.shot.marked", { type: "button", "aria-label": `Enlarge: ${label}`, on: { click: () => enlarge(label, view()) } }, view());
}

/* Draw a ring around what was found, on the last picture. */
function ring(location) {
  if (location.status !== "found" || !location.box || !location.viewport) return null;
  const [x, y, w, h] = location.box, [width, height] = location.viewport;
  const spot = el("i.ring-spot.is-passed");
  Object.assign(spot.style, { left: `${(100 * x) / width}%`, top: `${(100 * y) / height}%`, width: `${(100 * w) / width}%`, height: `${(100 * h) / height}%` });
  return spot;
}

function frameFacts(location, probe, at) {
  const share = location.candidates ? probe.surviving / location.candidates : 0;
  const bar = el("i");
  bar.style.width = `${Math.min(100, 100 * share)}%`;
  return [
    el("p", el("span.soft", `${at + 1} of ${location.probes.length}. ${KINDS[probe.kind] ?? probe.kind} `), el("b", { dir: "auto" }, probe.answer || "no readable answer, so nothing was learned")),
    el("p.small", `${count(probe.surviving)} of ${plural(location.candidates, "candidate")} left`, probe.leader && [", first ", text(probe.leader), ` with ${percent(probe.leader_probability)}`]),
    el("div.bar", bar),
    probe.reply && el("details.more", el("summary", "What the model wrote"), el("pre.plain", { dir: "auto", tabindex: 0 }, probe.reply)),
  ].filter(Boolean);
}
