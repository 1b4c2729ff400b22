/* The matrix of cases and models, with filter, search, sorting and arrow keys. */

import { OUTCOMES, el, icon, modelName, plural, seconds, text } from "./dom.js";
import { addPanel } from "./panels.js";

const FIELDS = {
  s: (entry, value) => entry.cell.outcome.startsWith(value) || (value === "slow" && entry.cell.slow),
  m: (entry, value) => entry.cell.model.toLowerCase().includes(value),
  c: (entry, value) => entry.cell.case_id.toLowerCase().includes(value),
  cap: (entry, value) => entry.cell.capture_mode.toLowerCase() === value,
  r: (entry, value) => String(entry.cell.repeat) === value,
};

/* Parse a search such as "s:failed m:qwen @smoke login !logout": all terms must match, "!" negates
   one, and quotation marks keep spaces. */
export function parseQuery(query) {
  return [...query.toLowerCase().matchAll(/(!?)(?:(s|m|c|cap|r):|(@))?(?:"([^"]*)"|(\S+))/g)]
    .map(([, not, field, at, quoted, bare]) => ({ not: not === "!", field, at: at === "@", value: quoted ?? bare }))
    .filter((term) => term.value);
}

export function matches(entry, terms) {
  return terms.every(({ not, field, at, value }) => {
    const holds = at
      ? entry.cell.tags.some((tag) => tag.toLowerCase() === value)
      : field ? FIELDS[field](entry, value) : entry.words.includes(value);
    return holds !== not;
  });
}

const ran = (entries) => entries.filter((e) => e.cell.outcome !== "skipped");
const good = (e) => e.cell.outcome === "passed" || e.cell.outcome === "healed";
const failures = (row) => ran(row.entries).filter((e) => !good(e)).length;
const disagreement = (row) => Math.min(failures(row), ran(row.entries).filter(good).length);
const slowest = (row) => Math.max(0, ...row.entries.map((e) => e.cell.duration_ms));
const SORTS = {
  "Order of the run": () => 0,
  "Case name": (a, b) => a.id.localeCompare(b.id),
  "Most failures": (a, b) => failures(b) - failures(a),
  "Models disagree": (a, b) => disagreement(b) - disagreement(a),
  "Slowest": (a, b) => slowest(b) - slowest(a),
};

export class Matrix {
  constructor(cases, entries, models, open) {
    this.entries = entries;
    this.open = open;
    this.state = { outcome: "all", terms: [], sort: "Order of the run" };
    this.rows = cases
      .map((item) => ({ id: item.id, item, entries: entries.filter((e) => e.item === item) }))
      .filter((row) => row.entries.length);
    this.severalModes = new Set(entries.map((e) => e.cell.capture_mode)).size > 1;
    this.columns = this.columnsOf(models);
    this.box = el("div.card.matrix-box");
    this.status = el("p.small", { role: "status", "aria-live": "polite" });
  }

  columnsOf(models) {
    const seen = new Map();
    for (const { cell } of this.entries) seen.set(this.columnKey(cell), { model: cell.model, mode: cell.capture_mode });
    const rank = new Map(models.map((model, i) => [model, i]).reverse());
    return [...seen].map(([key, column]) => ({ key, ...column })).sort((a, b) => (rank.get(a.model) ?? 999) - (rank.get(b.model) ?? 999));
  }

  columnKey(cell) {
    return this.severalModes ? `${cell.model}\n${cell.capture_mode}` : cell.model;
  }

  section() {
    this.draw();
    return el("section", { "aria-labelledby": "cells-heading" },
      el("div.heading", el("h2", { id: "cells-heading", tabindex: -1 }, "Cells"), this.status),
      el("div.toolbar", this.pills(), this.search(), this.sorter()), this.box);
  }

  pills() {
    const total = (outcome) => this.entries.filter((e) => e.cell.outcome === outcome).length;
    const choices = [["all", "All", this.entries.length], ...Object.entries(OUTCOMES).map(([key, { label }]) => [key, label, total(key)])];
    const group = el("div.pills", { role: "group", "aria-label": "Outcome" });
    for (const [key, label, n] of choices) {
      const pill = el("button.pill" + (n ? "" : ".none"), { type: "button", "aria-pressed": String(key === "all"), title: OUTCOMES[key]?.says }, label, el("b", String(n)));
      pill.addEventListener("click", () => {
        this.state.outcome = key;
        for (const other of group.children) other.setAttribute("aria-pressed", String(other === pill));
        this.draw();
      });
      group.append(pill);
    }
    return group;
  }

  search() {
    this.input = el("input", { type: "search", placeholder: "Search: login s:failed m:qwen @smoke !slow", "aria-label": "Search cells", autocomplete: "off", spellcheck: "false",
      title: "s: outcome, m: model, c: case, cap: capture mode, r: repeat, @tag, plain words, ! negates" });
    let timer;
    this.input.addEventListener("input", () => {
      clearTimeout(timer);
      timer = setTimeout(() => this.find(this.input.value), 90);
    });
    return el("div.find", this.input, el("kbd", { "aria-hidden": "true" }, "/"));
  }

  find(query) {
    this.state.terms = parseQuery(query);
    this.draw();
  }

  sorter() {
    const select = el("select", { "aria-label": "Sort cases" }, Object.keys(SORTS).map((name) => el("option", { value: name }, name)));
    select.addEventListener("change", () => {
      this.state.sort = select.value;
      this.draw();
    });
    return el("label.sort", "Sort", select);
  }

  accepts(entry) {
    const { outcome, terms } = this.state;
    return (outcome === "all" || entry.cell.outcome === outcome) && matches(entry, terms);
  }

  draw() {
    const found = new Set(this.entries.filter((entry) => this.accepts(entry)));
    const rows = this.rows.filter((row) => row.entries.some((e) => found.has(e))).sort(SORTS[this.state.sort]);
    const wanted = new Set([...found].map((e) => this.columnKey(e.cell)));
    const columns = this.columns.filter((column) => wanted.has(column.key));
    const all = found.size === this.entries.length;
    this.status.textContent = all ? `${plural(found.size, "cell")}. Open one to see what happened.` : `${found.size} of ${plural(this.entries.length, "cell")}`;
    this.visible = rows.flatMap((row) => row.entries.filter((e) => found.has(e)));
    this.box.classList.toggle("tall", rows.length > 30);
    this.box.replaceChildren(rows.length ? this.table(rows, columns, found) : el("p.nothing", "No cell matches."));
  }

  table(rows, columns, found) {
    const head = el("tr", el("th", { scope: "col" }, "Case"), columns.map((c) =>
      el("th", { scope: "col" }, modelName(c.model), this.severalModes && el("span.mode", c.mode))));
    const table = el("table.matrix", { role: "grid", "aria-label": "Cases by models" }, el("thead", head),
      el("tbody", rows.map((row) => this.tableRow(row, columns, found))));
    table.querySelector("button.cell")?.setAttribute("tabindex", "0");
    table.addEventListener("keydown", (event) => this.move(event, table));
    table.addEventListener("focusin", ({ target }) => {
      if (!target.matches("button.cell")) return;
      table.querySelector('button.cell[tabindex="0"]')?.setAttribute("tabindex", "-1");
      target.setAttribute("tabindex", "0");
    });
    return table;
  }

  tableRow({ item, entries }, columns, found) {
    const name = el("th", { scope: "row" },
      el("div.case-line", el("span.case-name", { title: item.case_path }, text(item.id)), item.must_pass && el("span.must", "must pass"), item.tags.map((tag) => el("span.tag", "@" + tag))),
      el("div.case-task", { dir: "auto", title: item.user_task }, item.user_task));
    return el("tr", name, columns.map((column) => {
      const own = entries.filter((e) => this.columnKey(e.cell) === column.key);
      return el("td", el("div.group", own.map((entry) => this.button(entry, own.length > 1, found.has(entry)))));
    }));
  }

  button(entry, compact, bright) {
    const { cell } = entry;
    const { letter, label } = OUTCOMES[cell.outcome];
    const which = [cell.case_id, cell.model, this.severalModes && cell.capture_mode, compact && `repeat ${cell.repeat}`].filter(Boolean).join(", ");
    const hint = [`${label}${cell.slow ? ", slow" : ""}: ${which}`, cell.reason, cell.duration_ms > 0 && seconds(cell.duration_ms / 1000)].filter(Boolean).join("\n");
    return el("button.cell.is-" + cell.outcome + (bright ? "" : ".faded"),
      { type: "button", tabindex: -1, title: hint, "aria-label": `${label}: ${which}`, "data-key": entry.key, on: { click: () => this.open(entry) } },
      icon(cell.outcome), el("b", letter), !compact && cell.duration_ms > 0 && el("span.took", seconds(cell.duration_ms / 1000)), cell.slow && el("span.took.late", "slow"));
  }

  move(event, table) {
    const here = event.target.closest?.("button.cell");
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity], PageUp: [-10, 0], PageDown: [10, 0] };
    if (!here || !(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const grid = [...table.tBodies[0].rows].map((row) => [...row.querySelectorAll("button.cell")]).filter((row) => row.length);
    const y = grid.findIndex((row) => row.includes(here)), x = grid[y].indexOf(here);
    const clamp = (value, max) => Math.max(0, Math.min(value, max));
    const [dy, dx] = steps[event.key];
    const row = grid[clamp(y + dy, grid.length - 1)];
    row[clamp(x + dx, row.length - 1)].focus();
  }

  focusCell(entry) {
    const button = [...this.box.querySelectorAll("button.cell")].find((b) => b.dataset.key === entry.key);
    button?.focus();
  }
}

function emptyState() {
  return el("section", el("div.card.empty",
    el("h2", "No cells were run"),
    el("p", "A cell is one case on one model. Name the models, point pytest at a folder with case files, and this page fills itself."),
    el("pre", "pytest cases --autoweb-models=builtin/oracle,MODEL")));
}

addPanel("cells", ({ matrix, shownEntries }) => (shownEntries.length ? matrix.section() : emptyState()));
