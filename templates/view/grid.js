/* The grid of cells by case and model. Of ten thousand cells only those near the view are drawn. */

import { OUTCOMES, append, el, text } from "./dom.js";

const ROW_PX = 24;
const BEYOND = 6;
const SQUARE_PX = 20;
const CASE_PX = 280;
const COLUMN_PX = 110;
const ACTS_PX = 80;
const LEFT = ".";
const GOING = "g";
const GOOD = new Set(["P", "H"]);
const OTHERS = { [LEFT]: { name: "left", label: "Not begun", sign: "" }, [GOING]: { name: "going", label: "Going", sign: "›" } };
const BY_LETTER = new Map(Object.entries(OUTCOMES).map(([name, { letter, label }]) => [letter, { name, label, sign: letter }]));

export const stateOf = (letter) => OTHERS[letter] ?? BY_LETTER.get(letter) ?? OTHERS[LEFT];
export const isLoss = (letter) => letter !== LEFT && letter !== GOING && letter !== "S" && !GOOD.has(letter);

const SHOWN = {
  all: () => true,
  going: (letter) => letter === GOING,
  lost: isLoss,
  left: (letter) => letter === LEFT,
};

export class Grid {
  /* `place` is the element to draw in; `open` is called with the number of a cell; `acts` makes what stands
     beside a model or a case to stop it. */
  constructor(place, open, acts) {
    this.place = place;
    this.open = open;
    this.acts = acts;
    this.head = el("div.head");
    this.rows = el("div.rows");
    this.none = el("p.none", { hidden: true }, "No case is like that.");
    append(place, [this.head, this.rows, this.none]);
    this.filter = "all";
    this.search = "";
    this.begin({ rows: [], columns: [], models: [], unplanned: [], cells: [], states: "" });
    place.addEventListener("scroll", () => this.draw(), { passive: true });
    addEventListener("resize", () => this.drawActs());
  }

  /* Take all cells anew. */
  begin({ rows, columns, models, unplanned, cells, states }) {
    this.names = rows;
    this.columns = columns;
    this.models = models;
    this.unplanned = new Set(unplanned);
    this.states = [...states];
    this.cells = rows.map(() => columns.map(() => []));
    this.rowOf = cells.map(([row]) => row);
    this.columnOf = cells.map(([, column]) => column);
    for (const [at, [row, column]] of cells.entries()) this.cells[row][column].push(at);
    const most = columns.map((_, column) => Math.max(1, ...this.cells.map((of) => of[column].length)));
    this.least = most.map((repeats) => Math.max(repeats * SQUARE_PX, COLUMN_PX));
    this.drawHead();
    this.choose();
  }

  drawHead() {
    this.head.replaceChildren(el("span", "case"), ...this.columns.map((name, at) =>
      el("span.column", el("span.model", { title: name }, text(name)), el("span.acts", this.acts.model(this.models[at])))));
    this.template = `minmax(180px, ${CASE_PX}px) ${this.widths().map((wide) => `${wide}px`).join(" ")} auto`;
    this.head.style.gridTemplateColumns = this.template;
  }

  /* Return how wide each column is: as wide as its heading, where there is room for all of them. */
  widths() {
    this.head.style.gridTemplateColumns = `${CASE_PX}px repeat(${this.columns.length || 1}, max-content)`;
    const named = [...this.head.children].slice(1).map((one) => Math.ceil(one.getBoundingClientRect().width));
    const room = this.place.clientWidth - CASE_PX - ACTS_PX;
    const gap = parseFloat(getComputedStyle(this.head).columnGap) || 0;
    const fits = named.reduce((sum, wide) => sum + wide + gap, 0) <= room;
    return named.map((wide, at) => Math.max(this.least[at], fits ? wide : Math.min(wide, room / named.length - gap)));
  }

  /* Draw anew what can be ordered. */
  drawActs() {
    this.drawHead();
    this.draw(true);
  }

  /* Take new states of some cells: pairs of number and letter. */
  change(states) {
    for (const [at, letter] of states) this.states[at] = letter;
    if (this.filter === "all") {
      for (const [at, letter] of states) if (this.drawn.has(at)) this.paint(this.drawn.get(at), at, letter);
    } else this.choose();
  }

  nameOf(at) {
    const [row, column] = [this.rowOf[at], this.columnOf[at]];
    return { row: this.names[row], column: this.columns[column], caseId: this.caseOf(row), model: this.models[column] };
  }

  /* Return the id of the case in a row; empty if no case file has planned it. */
  caseOf(row) {
    return this.unplanned.has(row) ? "" : this.names[row];
  }

  show(filter, search) {
    this.filter = filter;
    this.search = search.toLowerCase();
    this.place.scrollTop = 0;
    this.choose();
  }

  choose() {
    const fits = SHOWN[this.filter];
    this.chosen = [];
    for (const [row, of] of this.cells.entries()) {
      if (this.search && !this.names[row].toLowerCase().includes(this.search)) continue;
      if (of.some((cells) => cells.some((at) => fits(this.states[at])))) this.chosen.push(row);
    }
    this.none.hidden = this.chosen.length > 0 || this.names.length === 0;
    this.rows.style.height = `${this.chosen.length * ROW_PX}px`;
    this.draw(true);
  }

  /* Draw the rows near the view, unless just these are drawn already. */
  draw(anew = false) {
    const first = Math.max(0, Math.floor(this.place.scrollTop / ROW_PX) - BEYOND);
    const last = Math.min(this.chosen.length, first + Math.ceil(this.place.clientHeight / ROW_PX) + 2 * BEYOND);
    if (!anew && first === this.first && last === this.last) return;
    const focused = this.rows.contains(document.activeElement) ? document.activeElement.dataset.at : null;
    this.first = first;
    this.last = last;
    this.drawn = new Map();
    this.rows.replaceChildren(...this.chosen.slice(first, last).map((row, at) => this.row(row, first + at)));
    if (focused !== null) this.drawn.get(Number(focused))?.focus({ preventScroll: true });
  }

  row(row, at) {
    const line = el("div.row", el("span.case", { title: this.names[row] }, text(this.names[row])));
    line.style.top = `${at * ROW_PX}px`;
    line.style.gridTemplateColumns = this.template;
    for (const cells of this.cells[row]) append(line, [el("span.squares", cells.map((cell) => this.square(cell)))]);
    return append(line, [el("span.acts", this.acts.case(this.caseOf(row)))]);
  }

  square(at) {
    const button = el("button.square", { type: "button", on: { click: () => this.open(at) } });
    button.dataset.at = at;
    this.drawn.set(at, button);
    this.paint(button, at, this.states[at]);
    return button;
  }

  paint(button, at, letter) {
    const { name, label, sign } = stateOf(letter);
    const { row, column } = this.nameOf(at);
    button.className = `square is-${name}`;
    button.textContent = sign;
    button.title = `${row} · ${column}: ${label}`;
    button.setAttribute("aria-label", button.title);
  }
}
