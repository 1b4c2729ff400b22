/* Orders to the run: what can be pressed, what holds now, and what was ordered. */

import { el, text } from "./dom.js";

const LIMITS = [
  { order: "cap", before: ["cost"], label: "Cost cap, US dollars", hint: "5" },
  { order: "cap", before: ["time"], label: "Time cap", hint: "30m" },
  { order: "in-flight", before: [], label: "Cells in flight", hint: "4" },
];

export class Orders {
  /* `place` holds the buttons about the whole run, `list` what was ordered; `dialog` returns the dialog, behind
     which a problem would not be seen. */
  constructor(place, list, dialog) {
    this.place = place;
    this.list = list;
    this.dialog = dialog;
    this.take({ can: false, paused: "", models: [], cases: [], given: [] });
  }

  /* Take what holds now; drawn anew only where it differs, so that the focus and what was typed stay. */
  take(state) {
    this.state = state;
    if (!state.can) this.place.replaceChildren();
    else if (!this.place.firstChild) this.place.append(this.turn(), this.limits());
    if (state.can) this.pause.textContent = state.paused ? "Go on" : "Pause";
    this.list.hidden = state.given.length === 0;
    this.list.replaceChildren("Ordered: ", ...state.given.flatMap(([time, told, by], at) => [at ? " · " : "", text(`${time} ${told} (${by})`)]));
  }

  turn() {
    const press = () => this.give(this.state.paused ? "go-on" : "pause", [], this.pause);
    this.pause = el("button", { type: "button", on: { click: press } });
    return this.pause;
  }

  limits() {
    const fields = LIMITS.map(({ label, hint }) => [label, el("input", { autocomplete: "off", placeholder: hint })]);
    const button = el("button", { type: "submit" }, "Set");
    const submit = async (event) => {
      event.preventDefault();
      for (const [at, [, input]] of fields.entries()) {
        const said = input.value.trim();
        if (!said) continue;
        if (!(await this.give(LIMITS[at].order, [...LIMITS[at].before, said], button))) return;
        input.value = "";
      }
    };
    return el("details.limits", el("summary", "Limits"),
      el("form", { on: { submit } }, fields.map(([label, input]) => el("label", label, input)), button));
  }

  /* Make what stops the model and the case of a cell, and runs it again once it has ended. */
  about({ caseId, model }, { folder, outcome } = {}) {
    return [...this.again(folder, outcome), ...this.case(caseId, "Stop case"), ...this.model(model, "Stop model")];
  }

  again(folder, outcome) {
    if (!this.state.can || !outcome || outcome === "skipped") return [];
    const press = ({ currentTarget }) => this.give("again", [folder], currentTarget);
    const title = "Run this cell once more; its first result counts";
    return [el("button", { type: "button", title, on: { click: press } }, "Run again")];
  }

  model(name, word = "Stop") {
    return this.stop("stop-model", name, this.state.models, word, "model");
  }

  case(name, word = "Stop") {
    return this.stop("stop-case", name, this.state.cases, word, "case");
  }

  stop(order, name, stopped, word, what) {
    if (!this.state.can || !name) return [];
    if (stopped.includes(name)) return [el("span.stopped", `${what} stopped`)];
    const press = ({ currentTarget }) => {
      if (confirm(`Begin no more cells of the ${what} ${name}? Only a resumed run would run them.`)) this.give(order, [name], currentTarget);
    };
    const title = `Begin no more cells of the ${what} ${name}`;
    return [el("button", { type: "button", title, "aria-label": title, on: { click: press } }, word)];
  }

  /* Send an order; say what the server has against it. Returns whether it was given. */
  async give(order, words, button) {
    button.disabled = true;
    let problem = "";
    try {
      const sent = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ order, words }) };
      const answer = await fetch("orders", sent);
      if (!answer.ok) problem = await answer.text();
    } catch {
      problem = "The viewer does not answer, so nothing was ordered.";
    }
    button.disabled = false;
    this.say(problem);
    return !problem;
  }

  say(problem) {
    for (const old of document.querySelectorAll(".acts > .notice")) old.remove();
    if (!problem) return;
    const dialog = this.dialog();
    const place = dialog.open ? dialog.querySelector(".acts") : this.place;
    place.append(el("p.notice", { role: "alert" }, problem));
  }
}
