/* The panels of the first page: each one's own file adds how it is drawn. */

import { el, text } from "./dom.js";

const DRAWN_BY = new Map();

/* Register how the panel of that name is drawn; `draw(view)` returns its section, or null without data. */
export function addPanel(name, draw) {
  DRAWN_BY.set(name, draw);
}

/* Return the sections for which this report has data, in the order of the names. */
export function drawPanels(names, view) {
  const declared = new Map(view.report.panels.map((panel) => [panel.name, panel]));
  return names.map((name) => (declared.has(name) ? declaredPanel(declared.get(name)) : DRAWN_BY.get(name)(view))).filter(Boolean);
}

/* Draw a user's panel, whose content is in the report, so that it needs no script of its own. */
function declaredPanel(panel) {
  const id = `panel-${panel.name}`;
  const facts = Object.entries(panel.facts);
  const filled = facts.length > 0 || panel.columns.length > 0;
  return el("section", { "aria-labelledby": id },
    el("div.heading", el("h2", { id }, text(panel.title)), panel.note && el("p.small", text(panel.note))),
    panel.error && el("p.notice", text(panel.error)),
    filled && el("div.card.listing.declared",
      facts.length > 0 && el("dl.pairs", facts.map(([name, value]) => [el("dt", text(name)), el("dd", shownValue(value))])),
      panel.columns.length > 0 && declaredTable(panel)));
}

function declaredTable({ title, columns, rows, rows_left_out: leftOut }) {
  const numeric = columns.map((_, i) => rows.length > 0 && rows.every((row) => row[i] === null || typeof row[i] === "number"));
  const kind = (name, i) => name + (numeric[i] ? ".num" : "");
  return [
    el("div.scroll-x", { role: "region", tabindex: "0", "aria-label": title }, el("table.rows.small-table",
      el("thead", el("tr", columns.map((column, i) => el(kind("th", i), { scope: "col" }, text(column))))),
      el("tbody", rows.map((row) => el("tr", row.map((value, i) => el(kind("td", i), shownValue(value)))))))),
    leftOut > 0 && el("p.soft.small", `${leftOut} more rows are not kept`)];
}

const shownValue = (value) => (value === null ? "–" : text(String(value)));
