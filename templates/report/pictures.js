/* The pictures of an attempt as a film: one large picture, and a slider through all of them. */

import { el, seconds, text } from "./dom.js";

const LEAST_MS = 500, MOST_MS = 1800;

/* Return the film's frames in their order; attempts of earlier versions have only pictures without times. */
function framesOf(a) {
  const frames = (a.film ?? []).map((frame) => ({ ...frame }));
  const add = (picture, frame) => picture && !frames.some((known) => known.picture === picture) && frames.push({ picture, at_ms: null, ...frame });
  if (!frames.length) for (const step of a.step_results) add(step.screenshot, { moment: "step", step_index: step.step_index });
  add(a.scene?.screenshot, { moment: "scene" });
  add(a.final_screenshot, { moment: "end" });
  return frames;
}

/* Return what a frame shows, in words. */
function caption(a, frame) {
  const { scene } = a;
  const failed = scene?.screenshot === frame.picture && (scene.check_index ?? (a.failure?.kind === "check" ? firstUnmet(a) : null));
  if (typeof failed === "number") return `The page when check ${failed + 1} was looked at`;
  if (scene?.screenshot === frame.picture) return `The page at failing step ${scene.step_index}`;
  if (a.final_screenshot === frame.picture || frame.moment === "end") return "The page at the end";
  if (frame.moment === "opened") return "The entry page";
  const step = a.step_results.find((one) => one.step_index === frame.step_index);
  const does = step?.description || a.plan_steps.find((one) => one.index === frame.step_index)?.description;
  return `After step ${frame.step_index}${does ? `: ${does}` : ""}`;
}

const firstUnmet = (a) => a.checks.find((check) => check.passed === false && !check.advisory)?.index ?? null;

/* Show the picture that decided, with the film around it; null without pictures. */
export function picturesPart(a, { shot }) {
  const frames = framesOf(a);
  if (!frames.length) return null;
  const decided = [a.scene?.screenshot, a.final_screenshot].find((path) => path && frames.some((frame) => frame.picture === path));
  let at = Math.max(0, decided ? frames.findIndex((frame) => frame.picture === decided) : frames.length - 1);
  let timer = 0;
  const stage = el("div.seen"), told = el("figcaption", { dir: "auto" });
  const slider = el("input", { type: "range", min: 0, max: frames.length - 1, step: 1, "aria-label": "Picture of the film" });
  const play = el("button.quiet", { type: "button" }, "Play");

  const show = (to) => {
    at = to;
    const frame = frames[at], label = caption(a, frame);
    stage.replaceChildren(shot(frame.picture, label));
    told.replaceChildren(text(label), ...(frame.at_ms === null ? [] : [el("span.soft", ` · ${seconds(frame.at_ms / 1000)}`)]));
    slider.value = String(at);
    slider.setAttribute("aria-valuetext", `${at + 1} of ${frames.length}: ${label}`);
  };
  const stop = () => {
    clearTimeout(timer);
    timer = 0;
    play.textContent = "Play";
  };
  /* Pauses are as they were, but for those that nobody would wait for, or could see. */
  const next = () => {
    const [now, then] = [frames[at].at_ms, frames[at + 1]?.at_ms ?? null];
    const pause = now === null || then === null ? LEAST_MS * 2 : Math.min(MOST_MS, Math.max(LEAST_MS, then - now));
    timer = setTimeout(() => {
      if (!node.isConnected || at === frames.length - 1) return stop();
      show(at + 1);
      return next();
    }, pause);
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    if (at === frames.length - 1) show(0);
    play.textContent = "Pause";
    return next();
  });
  slider.addEventListener("input", () => {
    stop();
    show(Number(slider.value));
  });
  const node = el("figure.pictured", stage, told, frames.length > 1 && el("div.reel", play, slider, el("span.soft.small", `${frames.length} pictures`)),
    a.final_url && a.final_url !== a.entry_url_used && el("p.soft.small", "ended at ", text(a.final_url)));
  node.showPicture = (picture) => {
    const to = frames.findIndex((frame) => frame.picture === picture);
    if (to < 0) return;
    stop();
    show(to);
    node.scrollIntoView({ block: "nearest" });
  };
  show(at);
  return node;
}
