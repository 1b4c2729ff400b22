/* The matrix of cases and models, with filter, search, sorting and arrow keys. Of many rows only those near the view
   are drawn. */

import { OUTCOMES, append, el, icon, modelName, plural, reasonOf, seconds, text } from "./dom.js";
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
      : field ? FIELDS[field](entry, value) : entry.shared.includes(value) || entry.own.includes(value);
    return holds !== not;
  });
}

const DRAWN_AT_ONCE = 400; // Up to so many cells, all are drawn.
const BLOCK = 12;
const ROW_PX = 58;
const NEAR = "400px 0px";

const byName = new Intl.Collator();
const ran = (entries) => entries.filter((e) => e.cell.outcome !== "skipped");
const good = (e) => e.cell.outcome === "passed" || e.cell.outcome === "healed";
const failures = (row) => ran(row.entries).filter((e) => !good(e)).length;
const disagreement = (row) => Math.min(failures(row), ran(row.entries).filter(good).length);
const slowest = (row) => Math.max(0, ...row.entries.map((e) => e.cell.duration_ms));
const SORTS = {
  "Order of the run": () => 0,
  "Case name": (a, b) => byName.compare(a.id, b.id),
  "Most failures": (a, b) => failures(b) - failures(a),
  "Models disagree": (a, b) => disagreement(b) - disagreement(a),
  "Slowest": (a, b) => slowest(b) - slowest(a),
};

export class Matrix {
  constructor(cases, entries, models, open) {
    this.entries = entries;
    this.open = open;
    this.state = { outcome: "all", terms: [], sort: "Order of the run" };
    const byCase = grouped(entries);
    this.rows = cases.filter((item) => byCase.has(item)).map((item) => ({ id: item.id, item, entries: byCase.get(item) }));
    this.severalModes = new Set(entries.map((e) => e.cell.capture_mode)).size > 1;
    this.columns = this.columnsOf(models);
    this.box = el("div.card.matrix-box");
    this.blocks = [];
    this.lines = [];
    this.status = el("p.small", { role: "status", "aria-live": "polite" });
    addEventListener("beforeprint", () => this.blocks.forEach((block) => this.fill(block)));
    addEventListener("afterprint", () => this.blocks.length > 1 && this.draw());
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
      timer = setTimeout(() => this.find(this.input.value), 40);
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
    this.observer?.disconnect();
    this.blocks = [];
    this.box.replaceChildren(rows.length ? this.table(rows, columns, found) : el("p.nothing", "No cell matches."));
    this.box.scrollTop = 0;
    if (this.blocks.length > 1) this.watch();
  }

  table(rows, columns, found) {
    const head = el("tr", el("th", { scope: "col" }, "Case"), columns.map((c) =>
      el("th", { scope: "col" }, modelName(c.model), this.severalModes && el("span.mode", c.mode))));
    const parted = rows.length * columns.length > DRAWN_AT_ONCE;
    const table = el("table.matrix" + (parted ? ".parted" : ""), { role: "grid", "aria-label": "Cases by models", "aria-rowcount": parted && rows.length + 1 }, el("thead", head));
    this.lines = rows.map((row) => columns.map((column) => row.entries.filter((e) => this.columnKey(e.cell) === column.key)));
    const drawn = (y) => this.tableRow(rows[y].item, this.lines[y], found, parted && y + 2);
    const size = parted ? BLOCK : rows.length;
    for (let from = 0; from < rows.length; from += size) {
      const ys = [...Array(Math.min(size, rows.length - from)).keys()].map((i) => from + i);
      this.blocks.push({ body: el("tbody"), draw: () => ys.map(drawn), rows: ys.length, filled: false });
    }
    this.blocks.slice(0, 2).forEach((block) => this.fill(block));
    append(table, this.blocks.map((block) => block.body));
    this.keepTabStop(table);
    table.addEventListener("keydown", (event) => this.move(event));
    table.addEventListener("focusin", ({ target }) => {
      if (!target.matches("button.cell")) return;
      table.querySelector('button.cell[tabindex="0"]')?.setAttribute("tabindex", "-1");
      target.setAttribute("tabindex", "0");
    });
    return table;
  }

  /* Draw the blocks of rows that come near the view, and leave blanks of their height in place of the others. */
  watch() {
    const [first] = this.blocks;
    this.rowHeight = first.body.offsetHeight / first.rows || ROW_PX;
    this.blocks.forEach((block) => block.filled || this.blank(block, this.rowHeight * block.rows));
    this.observer = new IntersectionObserver((seen) => {
      for (const { target, isIntersecting, boundingClientRect } of seen) {
        const block = this.blocks.find(({ body }) => body === target);
        if (isIntersecting) this.fill(block);
        else if (block?.filled && !target.contains(document.activeElement)) this.blank(block, boundingClientRect.height);
      }
      this.keepTabStop(this.box);
    }, { root: this.box, rootMargin: NEAR });
    this.blocks.forEach(({ body }) => this.observer.observe(body));
  }

  fill(block) {
    if (!block || block.filled) return;
    block.filled = true;
    block.body.replaceChildren(...block.draw());
  }

  blank(block, height) {
    const space = el("td", { colspan: 99 });
    space.style.height = `${height}px`;
    block.filled = false;
    block.body.replaceChildren(el("tr.blank", { "aria-hidden": "true" }, space));
  }

  keepTabStop(table) {
    if (!table.querySelector('button.cell[tabindex="0"]')) table.querySelector("button.cell")?.setAttribute("tabindex", "0");
  }

  tableRow(item, groups, found, index) {
    const name = el("th", { scope: "row" },
      el("div.case-line", el("span.case-name", { title: item.case_path }, text(item.id)), item.must_pass && el("span.must", "must pass"), item.tags.map((tag) => el("span.tag", "@" + tag))),
      el("div.case-task", { dir: "auto", title: item.user_task }, item.user_task));
    return el("tr", { "aria-rowindex": index }, name, groups.map((own) =>
      el("td", el("div.group", own.map((entry) => this.button(entry, own.length > 1, found.has(entry)))))));
  }

  button(entry, compact, bright) {
    const { cell } = entry;
    const { letter, label } = OUTCOMES[cell.outcome];
    const which = [cell.case_id, cell.model, this.severalModes && cell.capture_mode, compact && `repeat ${cell.repeat}`].filter(Boolean).join(", ");
    const hint = [`${label}${cell.slow ? ", slow" : ""}: ${which}`, reasonOf(cell), cell.duration_ms > 0 && seconds(cell.duration_ms / 1000)].filter(Boolean).join("\n");
    return el("button.cell.is-" + cell.outcome + (bright ? "" : ".faded"),
      { type: "button", tabindex: -1, title: hint, "aria-label": `${label}: ${which}`, "data-key": entry.key, on: { click: () => this.open(entry) } },
      icon(cell.outcome), el("b", letter), !compact && cell.duration_ms > 0 && el("span.took", seconds(cell.duration_ms / 1000)), cell.slow && el("span.took.late", "slow"));
  }

  move(event) {
    const here = event.target.closest?.("button.cell");
    const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0], Home: [0, -Infinity], End: [0, Infinity], PageUp: [-10, 0], PageDown: [10, 0] };
    if (!here || !(event.key in steps) || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const { y, x } = this.placeOf(here.dataset.key);
    const clamp = (value, max) => Math.max(0, Math.min(value, max));
    const [dy, dx] = steps[event.key];
    const row = this.lines[clamp(y + dy, this.lines.length - 1)].flat();
    this.focusCell(row[clamp(x + dx, row.length - 1)]);
  }

  /* Return the row of a cell that is listed, and its place among the row's cells. */
  placeOf(key) {
    for (const [y, groups] of this.lines.entries()) {
      const x = groups.flat().findIndex((entry) => entry.key === key);
      if (x >= 0) return { y, x };
    }
    return null;
  }

  focusCell(entry) {
    const place = this.placeOf(entry.key);
    if (!place) return;
    const block = this.blocks[Math.floor(place.y / this.blocks[0].rows)];
    this.fill(block);
    [...block.body.querySelectorAll("button.cell")].find((b) => b.dataset.key === entry.key)?.focus();
  }
}

function grouped(entries) {
  const groups = new Map();
  for (const entry of entries) {
    if (!groups.has(entry.item)) groups.set(entry.item, []);
    groups.get(entry.item).push(entry);
  }
  return groups;
}

function emptyState() {
  return el("section", el("div.card.empty",
    el("h2", "No cells were run"),
    el("p", "A cell is one case on one model. Name the models, point pytest at a folder with case files, and this page fills itself."),
    el("pre", "pytest cases --autoweb-models=builtin/oracle,MODEL")));
}

addPanel("cells", ({ matrix, shownEntries }) => (shownEntries.length ? matrix.section() : emptyState()));
