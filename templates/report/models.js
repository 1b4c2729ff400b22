/* The models' rates with their intervals, what they cost and how long they took. */

import { OUTCOMES, count, el, fold, modelName, money, percent, plural, range, sameRate, seconds, signedHundredths, text, tokens } from "./dom.js";
import { addPanel } from "./panels.js";

function leaderboard({ summary, execution }) {
  const scored = summary.models.some((row) => row.scores);
  const measured = summary.models.some((row) => row.restraint);
  const head = ["Model", "First attempt", "After repair", ...(scored ? ["Score"] : []), ...(measured ? ["More than asked"] : []), "Cost", "Time"];
  const board = el("table.card.board" + (summary.models.length > 6 ? ".dense" : ""),
    el("thead", el("tr", head.map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", summary.models.map((row) => modelRows(row, execution?.models.find((m) => m.model === row.model), scored, measured))));
  return el("section", { "aria-labelledby": "models-heading" },
    el("div.heading", el("h2", { id: "models-heading" }, "Models")),
    summary.verdict && !summary.models.every((row) => unrated(row, execution?.models.find((m) => m.model === row.model))) && el("p.verdict", text(summary.verdict)),
    executionNote(execution),
    board,
    el("p.legend",
      el("span", el("i.fill"), "all cells that were run"),
      summary.models.some(({ numbers: n }) => !sameRate(n.first_attempt.all_trials, n.first_attempt.graded) || !sameRate(n.after_repair.all_trials, n.after_repair.graded))
        && el("span", el("i.fill.narrow"), "graded cells only: without broken and ungraded ones, and without cases whose controls are broken"),
      el("span", el("i.whisker"), "95% interval over cases")));
}

/* A model whose cells all lack checks has no pass rate. */
const unrated = (row, ran) => Boolean(ran) && ran.first_attempt.trials === row.numbers.first_attempt.all_trials.trials;

/* What is known of cases without checks stands apart from every rate. */
function executionNote(execution) {
  if (!execution) return null;
  const one = execution.cases === 1;
  const pairs = execution.comparisons.map((c) => el("li", text(`${c.a.label} against ${c.b.label}: ${c.verdict}`)));
  return el("div.notice.execution",
    el("p", `${plural(execution.cases, "case")} ${one ? "has" : "have"} no checks: that every step ran is no proof. For verdicts add `, el("code", "expect:"),
      " (docs/checks.md), start from ", el("code", "autoweb init"), ", or let a ", el("code", "judge"), " decide (docs/judge.md)."),
    el("ul", execution.models.map((m) => el("li", modelName(m.model), `: every step ran in ${ranWords(m.first_attempt)}`,
      m.after_repair.passed_trials > m.first_attempt.passed_trials && `; after repair ${ranWords(m.after_repair)}`)),
      pairs.length < 4 && pairs),
    pairs.length >= 4 && fold(`${pairs.length} pairs of models compared`, "", () => el("ul", pairs), "more"));
}

const ranWords = (rate) => `${percent(rate.value)} (${range(rate.interval)}), ${rate.passed_trials} of ${rate.trials}`;

function modelRows(row, ran, scored, measured) {
  const n = row.numbers;
  const main = el("tr",
    el("td.model", el("div.model-name", modelName(row.model)), strip(n), countsLine(n.counts), servedLine(row), chanceLine(row.above_chance), limitsLine(row.limits), leftOutLine(n.not_graded), otherCasesLine(row)),
    unrated(row, ran) ? ranCell("First attempt", ran.first_attempt) : rateCell("First attempt", "fill", n.first_attempt, n, ".large"),
    unrated(row, ran) ? ranCell("After repair", ran.after_repair)
      : n.counts.healed ? rateCell("After repair", "gain", n.after_repair, n) : notHealed(n),
    scored && scoreCell(row.scores),
    measured && restraintCell(row.restraint),
    el("td", { "data-label": "Cost" }, el("div.rate", n.calls ? money(n.cost.usd, n.cost.complete) : "–"),
      el("div.soft.small", el("div", `${tokens(n.input_tokens)} tokens in`), n.cached_tokens > 0 && el("div", `${tokens(n.cached_tokens)} of them cached`),
        el("div", `${tokens(n.output_tokens)} out`), n.reasoning_tokens > 0 && el("div", `${tokens(n.reasoning_tokens)} of them thoughts`)),
      n.replayed_calls > 0 && el("div.soft.small", `${count(n.replayed_calls)} of ${count(n.calls)} calls replayed`)),
    el("td", { "data-label": "Time" }, el("div.rate", seconds(n.median_s)), el("div.soft.small", el("div", "median", n.median_interval && ` (95% ${between(n.median_interval, seconds)})`), el("div.tail", `p95 ${seconds(n.p95_s)}`))));
  return [main, el("tr.more-row", el("td", { colspan: 5 + Boolean(scored) + Boolean(measured) }, fold("More numbers", "", () => moreNumbers(row), "more")))];
}

function ranCell(label, rate) {
  return el("td.rates", { "data-label": label }, el("div.rate", "no checks"), el("div.soft.small", `every step ran in ${rate.passed_trials} of ${plural(rate.trials, "cell")} (no proof)`));
}

function notHealed(n) {
  return el("td.rates", { "data-label": "After repair" }, el("div.rate.soft", "the same"),
    el("div.soft.small", n.repairs_tried ? `none of ${plural(n.repairs_tried, "repair")} helped` : "no repair was tried"));
}

/* Make a cell with the rates over all and over graded cells, each with its interval drawn. */
function rateCell(label, tone, rates, n, size = "") {
  const { all_trials: all, graded } = rates;
  return el("td.rates", { "data-label": label },
    el("div.rate" + size, percent(all.value), el("span.soft.small", ` ${range(all.interval)}`)),
    gauge(label, tone, all), el("div.soft.small", trials(all, n)),
    !sameRate(all, graded) && [gauge(label + ", graded cells only", tone + ".narrow", graded), el("div.soft.small", "graded ", percent(graded.value), " ", range(graded.interval), `, ${graded.passed_trials} of ${count(graded.trials)}`)]);
}

/* What answered to the model's name, if its provider tells; reports of earlier versions do not. */
function servedLine({ model, served = [] }) {
  // Where only its own name came back, there is nothing to say.
  if (served.length === 1 && !served[0].fingerprint && model.split("/").at(-1) === served[0].served) return null;
  const words = served.slice(0, 4).map((s) => `${s.served || "a model"}${s.fingerprint ? ` (${s.fingerprint})` : ""}, ${plural(s.calls, "call")}`);
  return words.length > 0 && el("div.soft.small", text(`answered by ${words.join("; ")}${served.length > 4 ? ` and ${served.length - 4} more` : ""}`));
}

function chanceLine(found) {
  if (!found) return null;
  const between = found.interval && ` (95% ${signedHundredths(found.interval.low)} to ${signedHundredths(found.interval.high)})`;
  return el("div.soft.small", `${signedHundredths(found.difference)} points above chance${between || ""}: ${percent(found.rate)} against ${percent(found.floor)} of ${plural(found.cases, "case")}`);
}

/* The share of the points, where checks carry some; like the rates, over all and over graded cells. */
function scoreCell(found) {
  if (!found) return el("td", { "data-label": "Score" }, el("div.rate.soft", "–"));
  const { first_attempt: first, first_attempt_graded: graded, after_repair: after } = found;
  const more = (name, other) => other && other.value !== first.value && el("div.soft.small", `${name} ${percent(other.value)} ${range(other.interval)}`);
  return el("td", { "data-label": "Score" },
    el("div.rate", percent(first.value), el("span.soft.small", ` ${range(first.interval)}`)),
    el("div.soft.small", `of the points, ${plural(first.cases, "case")}`),
    more("graded", graded), more("after repair", after));
}

/* What was written beyond the cases' own solutions. */
function restraintCell(found) {
  const label = { "data-label": "More than asked" };
  if (!found) return el("td", label, el("div.rate.soft", "–"), el("div.soft.small", "no solution's writes are known"));
  return el("td", label, el("div.rate", plural(found.writes, "write")),
    el("div.soft.small", `in ${found.beyond} of ${plural(found.cells, "cell")}`),
    found.unknown > 0 && el("div.soft.small", `unknown in ${plural(found.unknown, "cell")}`));
}

const LIMITS = { time: "time", steps: "steps", tokens: "tokens", cost: "the cost cap" };

function limitsLine(found) {
  if (!found || !found.share) return null;
  const parts = Object.keys(LIMITS).filter((name) => found[name]).map((name) => `${found[name]} by ${LIMITS[name]}`);
  return el("div.soft.small", `ended by a limit: ${percent(found.share)} (${range(found.interval)}) of ${plural(found.attempts, "attempt")}: ${parts.join(", ")}`);
}

const between = ({ low, high }, write) => `${write(low)}–${write(high)}`;

function leftOutLine({ broken, ungraded, controls, needs_input: asking, off_record: off }) {
  const parts = [broken && `${broken} broken`, ungraded && `${ungraded} ungraded`, controls && `${controls} with broken controls`, asking && `${asking} that need input`, off && `${off} off the record`].filter(Boolean);
  return parts.length > 0 && el("div.soft.small", `not graded: ${parts.join(", ")}`);
}

/* Rates of models that were run on different cases cannot be compared; those on the common cases can. */
function otherCasesLine({ on_common: common, not_run: missing, numbers }) {
  if (!common) return null;
  const without = missing.length > 0 && `, without ${missing.slice(0, 5).join(", ")}${missing.length > 5 ? ` and ${missing.length - 5} more` : ""}`;
  const rates = [common.first_attempt, common.after_repair].map((r) => percent(r.all_trials.value)).join(" → ");
  return el("div.soft.small.other-cases", text(`on ${plural(numbers.first_attempt.all_trials.cases, "case")}${without || ""}; `),
    common.cases ? `on the ${plural(common.cases, "case")} common to all models: ${rates}` : "no case is common to all models");
}

function strip(n) {
  const parts = Object.keys(OUTCOMES).filter((outcome) => n.counts[outcome]);
  return el("div.strip", { "aria-hidden": "true" }, parts.map((outcome) => {
    const part = el("span.is-" + outcome);
    part.style.flexGrow = n.counts[outcome];
    return part;
  }));
}

function countsLine(counts) {
  const parts = Object.keys(OUTCOMES).filter((outcome) => counts[outcome]);
  return el("div.counts", parts.map((outcome) => el("span.is-" + outcome, `${counts[outcome]} ${outcome}`)));
}

function trials(rate, n) {
  const cases = n.cells > n.cases ? `, ${plural(rate.cases, "case")}` : "";
  return `${count(rate.passed_trials)} of ${plural(rate.trials, "cell")}${cases}`;
}

/* Positions are set through the CSSOM, because the content policy forbids style attributes. */
function gauge(name, tone, { value, interval }) {
  if (value === null) return el("div.gauge." + tone.split(".").slice(1).join("."));
  const part = (classes, from, to) => {
    const node = el("i." + classes);
    node.style.left = `${from * 100}%`;
    node.style.width = `${Math.max(0, to - from) * 100}%`;
    return node;
  };
  const label = `${name}: ${percent(value)}, 95% interval ${range(interval)}`;
  return el("div.gauge." + tone, { role: "img", "aria-label": label, title: label },
    part("bar-fill", 0, value), interval && part("whisker", interval.low, interval.high));
}

/* Medians of the passed cells, each with its 95% interval where there are enough of them. */
function priceOf(price) {
  if (!price) return [];
  const shown = (found, write) => write(found.value) + (found.interval ? ` (${between(found.interval, write)})` : "");
  return [
    ["Tokens of a passed cell, median", shown(price.tokens, tokens)],
    ["Calls of a passed cell, median", shown(price.calls, (n) => String(n))],
    ["Time of a passed cell, median", shown(price.seconds, seconds)],
    price.actions && ["Actions of a passed cell, median", shown(price.actions, (n) => String(n))],
    price.beside_oracle && ["Its actions beside the oracle's", shown(price.beside_oracle, (n) => n.toFixed(1) + " ×")],
    price.usd && ["Cost of a passed cell, median", shown(price.usd, (usd) => perCost(usd))],
  ].filter(Boolean);
}

function moreNumbers(row) {
  const n = row.numbers;
  const share = (part, whole) => (whole ? `${part} of ${whole}` : "–");
  const pairs = [
    ["Every step ran", share(n.executed, n.cells - n.counts.skipped)],
    ["All checks hold", share(n.checks_passed, n.cells - n.counts.skipped)],
    ["False success: ran, yet a check fails", String(n.false_success)],
    ["Healed by repair", share(n.repairs_healed, n.repairs_tried)],
    ["Plans that were final", n.plans ? share(n.plans_confirmed, n.plans) : "none was asked for"],
    ["Asked a question", String(n.plans_with_question)],
    ["Scripts free of lint errors", share(n.scripts_lint_clean, n.scripts)],
    ["Passed, but slow", String(n.slow)],
    ["Flaky cases over repeats", String(n.flaky_cases)],
    ["Model calls", count(n.calls)],
    ["Cost of a cell", perCost(n.cost_per_cell)],
    ...priceOf(row.price),
    ["Cost of a passed cell", n.counts.passed + n.counts.healed ? perCost(n.cost_per_pass) : "–"],
    ...n.repeats.filter((r) => r.k > 1).flatMap((r) => [[`pass@${r.k}: any of ${r.k} tries, ${plural(r.cases, "case")}`, percent(r.any_of_k)], [`pass^${r.k}: all of ${r.k} tries`, percent(r.all_of_k)]]),
  ];
  return el("div.fold-grid",
    el("dl.pairs", pairs.map(([name, value]) => [el("dt", name), el("dd", value)])),
    el("div.scroll-x", stageTable(n.stages), row.by_capture.length > 0 && captureTable(row.by_capture)));
}

const perCost = (usd) => (usd === null ? "unknown" : money(usd, true));

export function stageTable(stages) {
  if (!stages.length) return el("p.soft.small", "No stage was recorded.");
  return el("table.rows.small-table",
    el("thead", el("tr", ["Stage", "Time", "Calls", "Tokens in", "Out", "Cost"].map((h, i) => el(i ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", stages.map((s) => el("tr", el("td", s.stage), el("td.num", seconds(s.seconds)), el("td.num", s.calls ? count(s.calls) : ""),
      el("td.num", s.calls ? tokens(s.input_tokens) : "", s.cached_tokens > 0 && el("div.soft.small", `${tokens(s.cached_tokens)} cached`)),
      el("td.num", s.calls ? tokens(s.output_tokens) : "", s.reasoning_tokens > 0 && el("div.soft.small", `${tokens(s.reasoning_tokens)} thoughts`)), el("td.num", s.calls ? money(s.cost.usd, s.cost.complete) : "")))));
}

function captureTable(captures) {
  return el("table.rows.small-table",
    el("thead", el("tr", ["Capture", "First attempt", "After repair", "Tokens in", "Cost"].map((h, i) => el(i ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", captures.map(({ capture_mode, numbers: n }) => el("tr", el("td.mono", capture_mode),
      el("td.num", `${percent(n.first_attempt.all_trials.value)} (${range(n.first_attempt.all_trials.interval)})`),
      el("td.num", percent(n.after_repair.all_trials.value)), el("td.num", tokens(n.input_tokens)), el("td.num", money(n.cost.usd, n.cost.complete))))));
}

addPanel("models", ({ report }) => report.summary?.models.length > 0 && leaderboard(report));
