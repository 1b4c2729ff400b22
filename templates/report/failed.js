/* What did not pass, and why: what a reader came for, so it stands on top. */

import { OUTCOMES, el, fold, icon, modelName, plural, text } from "./dom.js";
import { addPanel } from "./panels.js";

const ORDER = ["failed", "broken", "needs_input", "off_record", "ungraded"];
const REASONS_AT_ONCE = 8;
const REASONS_LISTED = 200;
const CELLS_NAMED = 6;

function failedPanel({ shownEntries, says, links }) {
  const ran = shownEntries.filter(({ cell }) => cell.outcome !== "skipped");
  const lost = ran.filter(({ cell }) => ORDER.includes(cell.outcome) && !failsAsItShould(cell) && !ranWithoutChecks(cell));
  if (!ran.length || ran.every(({ cell }) => ranWithoutChecks(cell))) return null;
  const shown = (rows) => el("ul.lost", rows.map((row) => reasonRow(row, links)));
  const rows = byReason(lost, says);
  const rest = rows.slice(REASONS_AT_ONCE, REASONS_LISTED);
  return el("section.failed", { "aria-labelledby": "failed-heading" },
    el("h2", { id: "failed-heading", "data-short": "What failed" }, lost.length ? counted(lost) : `Nothing failed: ${plural(ran.length, "cell")} passed`),
    rows.length > 0 && el("div.card", shown(rows.slice(0, REASONS_AT_ONCE)), rest.length > 0 && fold(plural(rest.length, "more reason"), "", () => shown(rest), "more")),
    rows.length > REASONS_LISTED && el("p.soft.small", `${rows.length - REASONS_LISTED} more among the cells below`));
}

/* The control that does nothing shows by its failure that the checks can fail; chance may fail as well. */
const failsAsItShould = (cell) => ["builtin/noop", "builtin/random"].includes(cell.model) && cell.outcome === "failed";
const ranWithoutChecks = (cell) => cell.without_checks && cell.outcome === "ungraded";

function counted(lost) {
  const of = (outcome) => lost.filter(({ cell }) => cell.outcome === outcome).length;
  return ORDER.filter(of).map((outcome) => `${of(outcome)} ${OUTCOMES[outcome].label.toLowerCase()}`).join(", ");
}

/* Each cell may have had a server of its own, whose port means nothing. */
const OWN_PORT = /(\/\/(?:127\.0\.0\.1|localhost)):\d{5}\b/g;

/* Return the cells with the same outcome and the same reason together, such as all that found no server. */
function byReason(lost, says) {
  const rows = new Map();
  for (const entry of lost.toSorted((a, b) => ORDER.indexOf(a.cell.outcome) - ORDER.indexOf(b.cell.outcome))) {
    const { outcome, reason, folder } = entry.cell;
    const why = says[folder] || reason;
    const key = `${outcome}\n${why.replace(OWN_PORT, "$1")}`;
    if (!rows.has(key)) rows.set(key, { outcome, why, entries: [] });
    rows.get(key).entries.push(entry);
  }
  return [...rows.values()];
}

function reasonRow({ outcome, why, entries }, links) {
  const rest = entries.length - CELLS_NAMED;
  const oneModel = new Set(entries.map(({ cell }) => cell.model)).size === 1;
  return el("li.is-" + outcome, icon(outcome), el("div",
    el("p.which", entries.slice(0, CELLS_NAMED).map((entry, i) => [i > 0 && ", ", cellLink(entry, links, !oneModel)]), rest > 0 && `, and ${plural(rest, "more cell")}`,
      oneModel && [" on ", modelName(entries[0].cell.model)]),
    why && el("p.why", { dir: "auto" }, why)));
}

function cellLink({ cell, key }, links, named) {
  const which = [named && [" on ", modelName(cell.model)], cell.repeat > 1 && ` repeat ${cell.repeat}`];
  return el("a", { href: `#${key}`, on: { click: (event) => {
    event.preventDefault();
    links.opener(cell.folder)();
  } } }, el("b", text(cell.case_id)), which);
}

addPanel("failed", failedPanel);
