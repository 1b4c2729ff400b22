/* Starts the page: reads the data, draws the first page, follows the address's hash. */

import { Detail } from "./detail.js";
import { el } from "./dom.js";
import { runFolder } from "./handover.js";
import { Matrix } from "./matrix.js";
import { fillContents, footer, masthead } from "./page.js";
import { drawPanels } from "./panels.js";
import { Parts } from "./parts.js";

const CONTROLS = new Set(["builtin/oracle", "builtin/noop", "builtin/random"]);
const LATE_MS = 200;
const { report, pictures: embedded, linked, says, panels, key: partsKey } = JSON.parse(document.getElementById("data").textContent);

try {
  const theme = localStorage.getItem("autoweb-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  /* Without storage, there is no remembered choice to apply. */
}

const parts = partsKey ? new Parts(partsKey) : null;
/* Of a large run the page holds a line of each cell, without what it shares with its case and what is empty. */
const wholeCell = (item, { case_path = item.case_path, reason = "", duration_ms = 0, ...line }) =>
  ({ case_id: item.id, case_path, entry_url: item.entry_url, user_task: item.user_task, tags: item.tags, reason, duration_ms, slow: false, ...line });

const entries = report.cases.flatMap((item) => {
  const shared = [item.id, item.user_task, item.entry_url, item.case_path].join("\n").toLowerCase();
  return item.cells.map((line) => {
    const cell = parts ? wholeCell(item, line) : line;
    return { item, cell, key: cell.folder.replace(/^cells\//, ""), shared, own: (cell.model + "\n" + cell.reason).toLowerCase() };
  });
});
const byKey = new Map(entries.map((entry) => [entry.key, entry]));
const contestants = entries.filter((entry) => !CONTROLS.has(entry.cell.model));

/* Open a cell, or close with null. A cell opened from another one replaces it, so "back" leads to the matrix. */
let insideHistory = false;
function go(entry, replace = false, quietly = false) {
  if (entry === null) {
    close();
    if (insideHistory) history.back();
    else location.replace("#/");
    return;
  }
  const hash = "#" + entry.key + (entry.attempt ? "/" + entry.attempt : "");
  if (replace) {
    history.replaceState(null, "", hash);
    if (!quietly) follow();
    return;
  }
  insideHistory = true;
  location.hash = hash;
}

/* A run that has only controls shows those. */
const shownEntries = contestants.length ? contestants : entries;
const ranking = [...(report.summary?.models ?? []).map((row) => row.model), ...report.models];
const matrix = new Matrix(report.cases, shownEntries, ranking, go);
const detail = new Detail(document.getElementById("detail"), document.getElementById("zoom"), { embedded, linked: linked && new Set(linked) }, report.rejudging, runFolder(report), go);

/* Return what opens a cell by its folder, or null if this run has no such cell. */
const links = {
  opener(folder) {
    const entry = folder && byKey.get(folder.replace(/^cells\//, ""));
    return entry ? () => go(entry) : null;
  },
};

/* Return the repeat of a control that broke, or else any repeat. */
function openControl(row, model) {
  const own = entries.filter((e) => e.cell.model === model && e.cell.case_id === row.case_id && e.cell.case_path === row.case_path);
  const wanted = model === "builtin/oracle" ? "passed" : "failed";
  const entry = own.find((e) => e.cell.outcome !== wanted) ?? own[0];
  if (entry) go(entry);
}

function target() {
  let key = location.hash.slice(1);
  try {
    key = decodeURIComponent(key);
  } catch {
    return null;
  }
  if (byKey.has(key)) return { entry: byKey.get(key) };
  const cut = key.lastIndexOf("/");
  const entry = byKey.get(key.slice(0, cut));
  return entry ? { entry, attempt: Number(key.slice(cut + 1)) } : null;
}

let shown = null;
function close() {
  detail.hide();
  if (shown) matrix.focusCell(shown);
  shown = null;
}

function follow() {
  const to = target();
  if (!to) {
    insideHistory = false;
    close();
    return;
  }
  shown = to.entry;
  const isControl = (e) => CONTROLS.has(e.cell.model);
  const siblings = entries.filter((e) => e.item === to.entry.item && isControl(e) === isControl(to.entry));
  const list = matrix.visible.includes(to.entry) ? matrix.visible : entries;
  const at = list.indexOf(to.entry);
  const neighbours = { before: list[at - 1], after: list[at + 1] };
  if (parts) load(to, siblings, neighbours);
  else detail.show(to.entry, to.attempt, siblings, neighbours);
}

/* Show a cell once its details are here; say that they are on their way if that takes noticeable time. */
async function load({ entry, attempt }, siblings, neighbours) {
  const late = setTimeout(() => shown === entry && detail.showLine(entry, neighbours, "Loading the details…"), LATE_MS);
  const cell = await parts.load(entry.cell);
  clearTimeout(late);
  if (shown !== entry) return;
  if (cell) detail.show({ ...entry, cell }, attempt, siblings, neighbours);
  else detail.showLine(entry, neighbours, "The details could not be loaded: they lie in the folder details, beside this page.");
}

function draw() {
  document.getElementById("top").append(...nodes(masthead(report, contestants)));
  const drawn = drawPanels(panels, { report, shownEntries, says, matrix, links, openControl });
  document.getElementById("main").append(...drawn, footer(report));
  fillContents(drawn);
}

const nodes = (list) => [...el("div", list).childNodes];

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches?.("input, select, textarea");
  if (event.key === "/" && !typing && !detail.dialog.open && matrix.input) {
    event.preventDefault();
    matrix.input.focus();
    matrix.input.select();
  } else if (event.key === "Escape" && event.target === matrix.input) {
    matrix.input.value = "";
    matrix.find("");
  }
});
addEventListener("hashchange", follow);

draw();
follow();
