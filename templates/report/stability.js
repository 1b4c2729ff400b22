/* Differences between repeats and between runs: flaky, slow and newly failing cases, and the trend. */

import { drawn, line, picture, words } from "./charts.js";
import { cellMark, count, el, fold, modelName, money, percent, plural, range, seconds, svg, text } from "./dom.js";

const SHOWN_AT_ONCE = 8;
const LISTED = 60;
const nameOf = (row) => [row.case_path, row.case_id, row.model, row.capture_mode].join("\n");

export function stabilityPanel(report, links) {
  const { summary, history } = report;
  const flaky = flakyRows(summary?.flaky ?? [], history?.flaky ?? []);
  const slow = slowRows(summary?.slow ?? [], history?.slow ?? []);
  const broke = (history?.steady ?? []).filter((row) => row.trials_now > 0 && row.passed_now === 0);
  const repeated = (summary?.models ?? []).some((row) => row.numbers.repeats.length > 0);
  if (!slow.length && !flaky.length && !broke.length) return null;
  return el("section", { "aria-labelledby": "stability-heading" },
    el("div.heading", el("h2", { id: "stability-heading" }, "Flaky and slow")),
    broke.length > 0 && el("div.card.listing", el("h3", "Never failed before, and fails now on every repeat"), brokeList(broke)),
    el("div.halves",
      el("div.card.listing", el("h3", "Flaky"), flaky.length ? flakyList(flaky, links) : el("p.soft.small", quiet(repeated, history))),
      el("div.card.listing", el("h3", "Slow"), slow.length ? slowList(slow, links) : el("p.soft.small", "No times were recorded."))));
}

function quiet(repeated, history) {
  const where = [repeated && "over the repeats of this run", history?.runs > 0 && `over this and ${plural(history.runs, "earlier run")}`].filter(Boolean);
  return where.length ? `No case both passed and failed ${where.join(" or ")}.` : "One try at each case says nothing about flakiness. Repeat the cells with --autoweb-repeat, or save runs with --autoweb-autosave.";
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

export function trendPanel(history) {
  const models = new Map();
  for (const point of history?.points ?? []) models.set(point.model, [...(models.get(point.model) ?? []), point]);
  const several = [...models].filter(([, points]) => points.length > 1);
  if (!several.length) return null;
  const changed = several.some(([, points]) => points.some((p) => !p.same_cases));
  return el("section", { "aria-labelledby": "trend-heading" },
    el("div.heading", el("h2", { id: "trend-heading" }, "Over time"), el("p.small", "First-attempt rate of each saved run, with its 95% interval. The last point is this run.")),
    el("div.trends", several.map(([model, points]) => trend(model, points))),
    el("p.legend", el("span", el("i.ring.full"), "same cases as now"), changed && el("span", el("i.ring"), "other cases or checks: another question, so no line leads to it")));
}

function trend(model, points) {
  const last = points[points.length - 1].first_attempt.all_trials;
  return el("div.card.trend",
    el("div.trend-head", el("div.model-name", modelName(model)), el("div.rate", percent(last.value))),
    drawn(`First-attempt rate of ${model} over ${points.length} runs: ${points.map((p) => percent(p.first_attempt.all_trials.value)).join(", ")}`, (width, label) => trendPicture(width, label, points)),
    fold("As a table", "", () => trendTable(points), "more"));
}

const told = (p) => [p.name || p.run, new Date(p.started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" }), p.commit && `commit ${p.commit}`,
  `${percent(p.first_attempt.all_trials.value)} (${range(p.first_attempt.all_trials.interval)}), ${p.first_attempt.all_trials.passed_trials} of ${plural(p.first_attempt.all_trials.trials, "cell")}, ${plural(p.cases, "case")}`,
  !p.same_cases && "other cases or checks than in this run"].filter(Boolean).join("\n");

function trendPicture(width, label, points) {
  const height = 104, left = 40, y = (v) => 90 - 80 * v;
  const x = (i) => left + 8 + ((width - left - 18) * i) / Math.max(1, points.length - 1);
  const rates = points.map((p) => p.first_attempt.all_trials);
  const joined = points.map((p, i) => i > 0 && p.same_cases === points[i - 1].same_cases && rates[i].value !== null && rates[i - 1].value !== null
    && (p.same_cases || p.case_set === points[i - 1].case_set) && line(x(i - 1), y(rates[i - 1].value), x(i), y(rates[i].value), "trend-line"));
  return picture(width, height, label,
    [0, 0.5, 1].map((v) => [line(left, y(v), width, y(v), v ? "grid" : "axis"), words(left - 6, y(v) + 4, percent(v), "tick", "end")]),
    points.map((p, i) => rates[i].interval && line(x(i), y(rates[i].interval.low), x(i), y(rates[i].interval.high), "span")),
    joined,
    points.map((p, i) => rates[i].value !== null && svg("circle", { cx: x(i), cy: y(rates[i].value), r: points.length > 25 ? 3 : 4.5, class: p.same_cases ? "dot" : "dot hollow" }, svg("title", {}, told(p)))));
}

function trendTable(points) {
  const rate = (r) => `${percent(r.value)} (${range(r.interval)})`;
  return el("div.scroll-x", el("table.rows.small-table",
    el("thead", el("tr", ["Run", "Commit", "First attempt", "After repair", "Graded only", "Cells", "Cost", "Median", "Cases"].map((h, i) => el(i > 1 ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", points.slice().reverse().map((p) => el("tr", el("td", text(p.name || p.run), p.current && el("span.tag", " this run")), el("td.mono", text(p.commit)),
      el("td.num", rate(p.first_attempt.all_trials)), el("td.num", rate(p.after_repair.all_trials)), el("td.num", rate(p.first_attempt.graded)), el("td.num", count(p.cells)),
      el("td.num", money(p.cost.usd, p.cost.complete)), el("td.num", seconds(p.median_s)), el("td.num", p.same_cases ? "same" : "changed"))))));
}
