/* A published leaderboard: its frame, where each number comes from, what was left out, the runs, and its start. */

import { append, cellMark, count, el, fold, icon, money, percent, plural, range, seconds, text, tokens } from "./dom.js";
import { Matrix } from "./matrix.js";
import { fillContents, pairsTable, themeButton } from "./page.js";
import { addPanel, drawPanels } from "./panels.js";

const CONTROL = /^builtin\/(oracle$|noop$|random$|mutant-)/;
const LISTED_AT_ONCE = 300;
const { board, panels: panelNames } = JSON.parse(document.getElementById("data").textContent);

try {
  const theme = localStorage.getItem("autoweb-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  /* Without storage, there is no remembered choice to apply. */
}

const openPage = (cell) => () => location.assign(cell.page);
const cellName = (cell) => `${cell.case_id}, ${cell.entry}, repeat ${cell.repeat}`;

/* Draw cells as marks, each of which leads to the page that shows what happened in it. */
function cellList(places) {
  const marks = (some) => el("div.group.published-cells", some.map((at) => {
    const cell = board.cells[at];
    return cellMark(cell.outcome, cellName(cell), openPage(cell));
  }));
  const rest = places.slice(LISTED_AT_ONCE);
  return [marks(places.slice(0, LISTED_AT_ONCE)), rest.length > 0 && fold(`${count(rest.length)} more`, "", () => marks(rest), "more")];
}

const RATE_NAME = /^(first attempt|after repair)/;
function shownNumber({ name, value, interval }) {
  if (value === null) return "unknown";
  if (RATE_NAME.test(name)) return [percent(value), " ", el("span.soft", range(interval))];
  if (name.startsWith("cost")) return money(value, true);
  return name.startsWith("tokens") ? tokens(value) : seconds(value);
}

function sources() {
  if (!board.summary.models.length) return null;
  const sets = new Map(board.sets.map((set) => [set.name, set]));
  const rows = (entry) => board.numbers.filter((number) => number.entry === entry).map((number) => {
    const set = sets.get(number.of);
    return el("tr", el("td", number.name), el("td.num", shownNumber(number)), el("td.soft.small", number.method),
      el("td", fold(plural(set.cells.length, "cell"), ` ${set.says}`, () => cellList(set.cells), "more")));
  });
  const tables = board.summary.models.map(({ model }) => fold(text(model), "", () =>
    el("div.scroll-x", el("table.rows.small-table.sources",
      el("thead", el("tr", ["Number", "Value", "How it is computed", "From these cells"].map((h, i) => el(i === 1 ? "th.num" : "th", { scope: "col" }, h)))),
      el("tbody", rows(model)))), "more"));
  return el("section", { "aria-labelledby": "sources-heading" },
    el("div.heading", el("h2", { id: "sources-heading" }, "Where the numbers come from"),
      el("p.small", "Every number with the cells behind it. A cell leads to the page of its run that shows what the model did. The counts under “More numbers” are over all cells that were run.")),
    el("div.card.listing.folds", tables));
}

const KINDS_LEFT_OUT = [["run", "Runs"], ["case", "Cases"], ["cell", "Cells"]];
function excluded() {
  if (!board.excluded.length) return null;
  const line = (row) => {
    const cell = row.cell === null ? null : board.cells[row.cell];
    return el("tr", el("td.case-name", cell && cellMark(cell.outcome, cellName(cell), openPage(cell)), cell && " ", text(row.name)),
      el("td", text(row.entry || "all")), el("td", text(row.reason)));
  };
  const table = (rows) => el("div.scroll-x", el("table.rows.small-table",
    el("thead", el("tr", ["What", "In the numbers of", "Why"].map((h) => el("th", { scope: "col" }, h)))), el("tbody", rows.map(line))));
  const groups = KINDS_LEFT_OUT.map(([what, title]) => [title, board.excluded.filter((row) => row.what === what)]).filter(([, rows]) => rows.length);
  return el("section", { "aria-labelledby": "excluded-heading" },
    el("div.heading", el("h2", { id: "excluded-heading" }, "What was left out, and why"),
      el("p.small", "Pairs leave out further cases, which stand below each of them.")),
    el("div.card.listing", groups.map(([title, rows]) => [el("h3", `${title}: ${count(rows.length)}`), table(rows.slice(0, 15)),
      rows.length > 15 && fold(`${count(rows.length - 15)} more`, "", () => table(rows.slice(15)), "more")])));
}

function runs() {
  const differing = new Set(board.runs.flatMap((run) => Object.keys(run.environment)).filter((name) =>
    name !== "git" && new Set(board.runs.map((run) => run.environment[name] ?? "")).size > 1));
  const sums = new Set(board.runs.map((run) => run.cases_sum));
  return el("section", { "aria-labelledby": "runs-heading" },
    el("div.heading", el("h2", { id: "runs-heading" }, "Runs")),
    sums.size > 1 && el("p.notice", "The runs did not all ask the same: their cases or checks differ. Rates of different runs are comparable on common cases only."),
    differing.size > 0 && el("p.notice", `The runs differ in: ${[...differing].join(", ")}.`),
    new Set(board.runs.map((run) => run.workers)).size > 1 && el("p.notice", "The runs had different numbers of xdist workers, so their times are not comparable."),
    el("div.card.listing", board.runs.map((run) => el("div.published-run",
      el("h3", el("a", { href: run.page }, text(run.name))),
      el("dl.pairs", [
        ["Began", new Date(run.started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })],
        ["Cells", count(run.cells)],
        ["Models", run.models.join(", ")],
        ["Checksum of its cases and checks", el("code", run.cases_sum.slice(0, 16))],
        ["Checksum of its results", el("code", run.results_sum.slice(0, 16))],
        ...Object.entries(run.environment),
      ].map(([name, value]) => [el("dt", text(name)), el("dd", typeof value === "string" ? text(value) : value)])),
      run.model_settings.length > 0 && fold("What the models are", "", () => run.model_settings.map(({ model, settings }) =>
        [el("h4", text(model)), pairsTable(settings.map((row) => [row.name, row.value, row.source]))]), "more")))));
}

function publishedHead() {
  const facts = [plural(board.summary.models.length, "entry", "entries"), plural(board.cases.length, "case"), plural(board.cells.length, "cell"), plural(board.runs.length, "run")];
  return [
    el("div.masthead",
      el("div", el("p.eyebrow", icon("scales"), "pytest-autoweb leaderboard"), el("h1", text(board.title)),
        el("p.facts", facts.map((fact) => el("span", el("b", fact))))),
      themeButton()),
    el("nav.contents", { "aria-label": "Sections" }),
  ];
}

const publishedFoot = () => el("footer", el("span", `Computed by pytest-autoweb ${board.made_with}, format ${board.schema_version}`),
  el("span", el("a", { href: "leaderboard.json" }, "leaderboard.json"), ": all numbers, and the cells behind each"));

function publishedCases() {
  const items = new Map(board.cases.map((item) => [`${item.case_path}\n${item.id}`, item]));
  return board.cells.map((cell) => {
    const item = items.get(`${cell.case_path}\n${cell.case_id}`);
    const shared = [item.id, item.user_task, item.entry_url, item.case_path].join("\n").toLowerCase();
    return { item, cell: { ...cell, model: cell.entry, tags: item.tags }, key: cell.folder, shared, own: `${cell.entry}\n${cell.reason}`.toLowerCase() };
  });
}

addPanel("sources", () => sources());
addPanel("excluded", () => excluded());
addPanel("runs", () => runs());

function drawBoard() {
  const every = publishedCases();
  const contestants = every.filter((entry) => !CONTROL.test(entry.cell.model));
  const shownEntries = contestants.length ? contestants : every;
  const byFolder = new Map(board.cells.map((cell) => [cell.folder, cell]));
  const matrix = new Matrix(board.cases, shownEntries, board.summary.models.map((row) => row.model), (entry) => openPage(entry.cell)());
  const links = { opener: (folder) => (byFolder.has(folder) ? openPage(byFolder.get(folder)) : null) };
  const openControl = (row, model) => {
    const own = board.cells.filter((cell) => cell.entry === model && cell.case_id === row.case_id && cell.case_path === row.case_path);
    const cell = own.find((each) => each.outcome !== (model === "builtin/oracle" ? "passed" : "failed")) ?? own[0];
    if (cell) openPage(cell)();
  };
  const report = { summary: board.summary, comparisons: board.comparisons, baseline: null, panels: [] };
  append(document.getElementById("top"), publishedHead());
  const sections = drawPanels(panelNames, { report, shownEntries, matrix, links, openControl });
  append(document.getElementById("main"), [sections, publishedFoot()]);
  fillContents(sections);
}

drawBoard();
