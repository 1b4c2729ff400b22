/* One cell in a dialog: its steps, pictures, script and log so far, read again whenever it has moved on. */

import { append, badge, el, seconds, text } from "./dom.js";

const SIGNS = { ok: "done", failed: "failed", blocked: "blocked", corrected: "corrected" };

export class CellDialog {
  /* `dialog` is the element; `named` returns what a cell is called, by its number; `acts` makes what can be
     ordered about it. */
  constructor(dialog, named, acts) {
    this.dialog = dialog;
    this.named = named;
    this.acts = acts;
    this.at = null;
    dialog.addEventListener("close", () => {
      this.at = null;
      if (location.hash) history.replaceState(null, "", location.pathname);
    });
  }

  /* Show a cell of the run as it was numbered in an epoch. */
  async open(at, epoch) {
    this.at = at;
    this.epoch = epoch;
    this.shown = "";
    this.cell = {};
    const { row, column } = this.named(at);
    this.dialog.replaceChildren(this.heading(row, column, null), el("div.inside", el("p.soft", "Reading …")));
    if (!this.dialog.open) this.dialog.showModal();
    await this.refresh();
  }

  /* Read the cell again; draw it only if something is new, so that nothing moves under the reader. */
  async refresh() {
    const at = this.at;
    if (at === null) return;
    let content;
    try {
      const answer = await fetch(`cell/${this.epoch}/${at}`);
      if (!answer.ok) throw new Error(await answer.text());
      content = await answer.text();
    } catch (error) {
      content = JSON.stringify({ problem: String(error.message ?? error) });
    }
    if (at !== this.at || content === this.shown) return;
    this.shown = content;
    this.draw(JSON.parse(content));
  }

  /* Draw anew what can be ordered. */
  drawActs() {
    if (this.at !== null) this.dialog.querySelector(".acts").replaceChildren(...this.acts(this.at, this.cell));
  }

  heading(row, column, outcome) {
    const close = el("button.quiet", { type: "button", on: { click: () => this.dialog.close() } }, "Close");
    return el("header", el("h2", { id: "cell-title" }, text(row), " ", el("span.soft", text(column))),
      outcome && badge(outcome), el("div.acts", this.acts(this.at, this.cell)), close);
  }

  draw(cell) {
    const { row, column } = this.named(this.at);
    const inside = el("div.inside");
    if (cell.problem) append(inside, [el("p.notice", cell.problem)]);
    else {
      append(inside, [
        cell.reason && el("p", text(cell.reason)),
        cell.task && el("p.soft", text(cell.task)),
        cell.attempts.length === 0 && el("p.soft", cell.outcome ? "No attempt was made." : NOTHING),
        cell.attempts.map((attempt) => this.attempt(attempt)),
        cell.again.map((run) => furtherRun(run)),
      ]);
    }
    const scrolled = this.dialog.scrollTop;
    this.cell = cell;
    this.dialog.replaceChildren(this.heading(row, column, cell.outcome), inside);
    this.dialog.scrollTop = scrolled;
  }

  attempt({ name, steps, film, code, log, checks }) {
    return el("section", el("h3", name.replace("-", " ")),
      steps.length > 0 && [el("h4", "Steps"), el("ol.steps", steps.map(stepLine))],
      checks.length > 0 && [el("h4", "Checks"), el("ol.steps.checks", checks.map(checkLine))],
      film.length > 0 && [el("h4", "Pictures"), el("div.film", film.map((frame) => this.frame(frame)))],
      code && [el("h4", "Script"), el("pre.script", { tabindex: 0 }, code)],
      log && [el("h4", "Log"), el("pre.log", { tabindex: 0 }, log)]);
  }

  frame({ picture, moment, step_index: step, at_ms: atMs }) {
    const caption = moment === "step" ? `step ${step}` : moment;
    const image = el("img", { src: pictureAddress(this.epoch, this.at, picture), alt: caption, loading: "lazy" });
    return el("figure", image, el("figcaption", `${caption} · ${seconds(atMs / 1000)}`));
  }
}

const furtherRun = ({ name, outcome, reason, code, log }) =>
  el("section.again", el("h3", `${name.replace("again-", "run again ")} `, outcome && badge(outcome)),
    el("p.soft", outcome ? "The first result counts." : "It goes on."),
    reason && el("p", text(reason)),
    code && [el("h4", "Script"), el("pre.script", { tabindex: 0 }, code)],
    log && [el("h4", "Log"), el("pre.log", { tabindex: 0 }, log)]);

const NOTHING = "Nothing is written of its attempt yet. What a cell writes while it goes appears from its next step on; of a cell on another machine, when it has ended.";

export const pictureAddress = (epoch, at, picture) => `picture/${epoch}/${at}/${picture.split("/").map(encodeURIComponent).join("/")}`;

const stepLine = ({ index, description, status, duration_ms: took, error }) =>
  el("li", el("b", String(index)), text(description || `step ${index}`),
    el("span.soft.small", status ? `${SIGNS[status] ?? status}${took ? " · " + seconds(took / 1000) : ""}` : "to come"),
    error && el("span.error.small", text(error)));

const checkLine = ({ type, passed, actual }, at) =>
  el("li", el("b", String(at + 1)), text(type), el("span.soft.small", passed === null ? "not judged" : passed ? "holds" : "does not hold"),
    passed === false && actual && el("span.error.small", text(actual)));
