/* What changes from repeat to repeat and from run to run: flaky, slow, newly failing. */

import { cellMark, el, fold, modelName, plural, seconds, text } from "./dom.js";
import { addPanel } from "./panels.js";

const SHOWN_AT_ONCE = 8;
const LISTED = 60;
const nameOf = (row) => [row.case_path, row.case_id, row.model, row.capture_mode].join("\n");

function stabilityPanel(report, links) {
  const { summary, history } = report;
  const flaky = flakyRows(summary?.flaky ?? [], history?.flaky ?? []);
  const slow = slowRows(summary?.slow ?? [], history?.slow ?? []);
  const broke = (history?.steady ?? []).filter((row) => row.trials_now > 0 && row.passed_now === 0);
  const repeated = (summary?.models ?? []).some((row) => row.numbers.repeats.length > 0);
  const steady = quiet(repeated, history);
  if (!slow.length && !flaky.length && !broke.length) return null;
  return el("section", { "aria-labelledby": "stability-heading" },
    el("div.heading", el("h2", { id: "stability-heading" }, flaky.length || steady || broke.length ? "Flaky and slow" : "Slowest")),
    broke.length > 0 && el("div.card.listing", el("h3", "Never failed before, and fails now on every repeat"), brokeList(broke)),
    el("div.halves",
      (flaky.length > 0 || steady) && el("div.card.listing", el("h3", "Flaky"), flaky.length ? flakyList(flaky, links) : el("p.soft.small", steady)),
      slow.length > 0 && el("div.card.listing", (flaky.length > 0 || steady || broke.length > 0) && el("h3", "Slowest"), slowList(slow, links))));
}

function quiet(repeated, history) {
  const where = [repeated && "over the repeats of this run", history?.runs > 0 && `over this and ${plural(history.runs, "earlier run")}`].filter(Boolean);
  return where.length > 0 && `No case both passed and failed ${where.join(" or ")}.`;
}

/* Cases that are flaky within this run come first, then those that are flaky across runs. */
function flakyRows(now, before) {
  const known = new Map(before.map((row) => [nameOf(row), row]));
  const here = new Set(now.map(nameOf));
  return [...now.map((row) => ({ row, outcomes: row.outcomes, folders: row.folders, past: known.get(nameOf(row)) })),
    ...before.filter((row) => !here.has(nameOf(row))).map((row) => ({ row, outcomes: [], folders: [], past: row }))];
}

function flakyList(rows, links) {
  const past = (p) => p && `${[p.passed && `${p.passed} passed`, p.healed && `${p.healed} healed`, p.failed && `${p.failed} failed`].filter(Boolean).join(", ")} in ${plural(p.runs, "run")}`;
  return listing(rows, ({ row, outcomes, folders, past: p }) => [
    caseOf(row), el("div.small.soft", past(p) || ""),
    el("div.group", outcomes.map((outcome, i) => cellMark(outcome, `${row.case_id}, ${row.model}, repeat ${i + 1}`, links.opener(folders[i]))))]);
}

function slowRows(now, before) {
  const known = new Map(before.map((row) => [nameOf(row), row]));
  return now.map((row) => ({ row, past: known.get(nameOf(row))?.earlier_median_s ?? null }));
}

function slowList(rows, links) {
  return listing(rows, ({ row, past }) => [
    caseOf(row),
    el("div.small.soft", `model's median ${seconds(row.median_s)}`, past !== null && `, earlier runs ${seconds(past)}`, row.continued && el("span.late", ", a step needed a larger limit")),
    el("div.group", el("b.took", seconds(row.seconds)), cellMark(row.outcome, `${row.case_id}, ${row.model}, repeat ${row.repeat}`, links.opener(row.folder)))]);
}

function brokeList(rows) {
  const chance = (p) => (p === null ? "" : `, by chance in ${p < 0.001 ? "fewer than 0.1" : (p * 100).toFixed(1)}% of such histories`);
  return listing(rows, (row) => [
    caseOf(row), el("div.small.soft", `passed ${plural(row.trials, "time")} in ${plural(row.runs, "earlier run")}${chance(row.p)}`),
    el("div.group.is-failed", el("span.direction", `now 0 of ${row.trials_now}`))]);
}

const caseOf = (row) => el("div", el("span.case-name", { title: row.case_path }, text(row.case_id)), el("span.small.soft", " on ", modelName(row.model)));

function listing(rows, parts) {
  const entries = (some) => el("ul.entries", some.map((row) => el("li", parts(row))));
  const rest = rows.slice(SHOWN_AT_ONCE, LISTED);
  return [entries(rows.slice(0, SHOWN_AT_ONCE)), rest.length > 0 && fold(`${rest.length} more`, "", () => entries(rest), "more"),
    rows.length > LISTED && el("p.soft.small", `${rows.length - LISTED} more in report.json`)];
}

addPanel("stability", ({ report, links }) => stabilityPanel(report, links));
