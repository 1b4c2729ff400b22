/* The first page: what was run, the rates of the models, the controls and the analysis. */

import { OUTCOMES, append, count, copyButton, el, fold, icon, modelName, money, percent, plural, range, seconds, text, tokens } from "./dom.js";

export function masthead(report, contestants) {
  const cases = new Set(report.cases.filter((c) => c.cells.length).map((c) => c.case_path + "\n" + c.id));
  const title = contestants.length
    ? [plural(report.summary?.models.length ?? report.models.length, "model"), plural(cases.size, "case"), plural(contestants.length, "cell")].join(", ")
    : cases.size ? `Controls of ${plural(cases.size, "case")}` : "Nothing to compare yet";
  return [
    el("div.masthead",
      el("div",
        el("p.eyebrow", icon("scales"), "pytest-autoweb report"),
        el("h1", title),
        facts(report)),
      themeButton()),
    el("nav.contents", { "aria-label": "Sections" }),
    el("details.ran",
      el("summary", "Settings and environment"),
      el("div.card.ran-grid",
        el("div", el("h3", "Settings"), settingsTable(report.settings)),
        el("div", el("h3", "Environment"), pairsTable(Object.entries(report.environment))))),
    report.shard && el("p.notice", `This is shard ${report.shard[0]} of ${report.shard[1]}: only a part of the cells was run here.`),
    report.rejudging && el("p.notice", "The cells were judged again offline by autoweb verify, from the evidence that the run kept. ", plural(report.rejudging.cells.filter((c) => c.before !== c.after).length, "outcome"), " changed."),
    report.interrupted && el("p.notice", "The run was interrupted: cells that never started count as skipped."),
    report.notes.map((note) => el("p.notice", text(note))),
  ];
}

function facts(report) {
  const workers = report.workers
    ? `${plural(report.workers, "xdist worker")}: times are of a shared machine`
    : "one process";
  const commit = report.environment.git;
  const entries = [
    [new Date(report.started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })],
    [seconds(report.duration_s), "in all"],
    [workers],
    report.capture_modes.length && [report.capture_modes.join(", "), report.capture_modes.length > 1 ? "captures" : "capture"],
    commit && [commit.slice(0, 24), "commit"],
    report.exit_status !== null && ["exit status " + report.exit_status],
  ];
  return el("p.facts", entries.filter(Boolean).map(([value, label]) => el("span", el("b", text(value)), label && " " + label)));
}

function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button.quiet.theme", { type: "button", "aria-label": "Switch between light and dark" }, icon("theme"));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("autoweb-theme", root.dataset.theme);
    } catch {
      /* Some browsers deny storage to pages opened from disk; the choice then lasts for this view. */
    }
  });
  return button;
}

function settingsTable(settings) {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const known = setting !== null && typeof setting === "object" && "value" in setting;
    const source = known ? setting.source ?? setting.origin ?? "" : "";
    return [name, show(known ? setting.value : setting), source];
  });
  return pairsTable(rows);
}

function show(value) {
  if (value === null || value === "" || (Array.isArray(value) && !value.length)) return "–";
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

function pairsTable(rows) {
  if (!rows.length) return el("p.soft.small", "Not recorded.");
  return el("table.rows", el("tbody", rows.map(([name, value, source]) =>
    el("tr" + (source && source !== "default" ? ".chosen" : ""), el("td", name), el("td", text(value)), source !== undefined && el("td.soft", text(source))))));
}

export function leaderboard(summary) {
  const board = el("table.card.board" + (summary.models.length > 6 ? ".dense" : ""),
    el("thead", el("tr", ["Model", "First attempt", "After repair", "Cost", "Time"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", summary.models.map(modelRows)));
  return el("section", { "aria-labelledby": "models-heading" },
    el("div.heading", el("h2", { id: "models-heading" }, "Models")),
    summary.verdict && el("p.verdict", text(summary.verdict)),
    board,
    el("p.legend",
      el("span", el("i.fill"), "all cells that were run"),
      el("span", el("i.fill.narrow"), "graded cells only: without broken and ungraded ones, and without cases whose controls are broken"),
      el("span", el("i.whisker"), "95% interval over cases")));
}

function modelRows(row) {
  const n = row.numbers;
  const main = el("tr",
    el("td.model", el("div.model-name", modelName(row.model)), strip(n), countsLine(n.counts), leftOutLine(n.not_graded)),
    rateCell("First attempt", "fill", n.first_attempt, n, ".large"),
    rateCell("After repair", "gain", n.after_repair, n),
    el("td", { "data-label": "Cost" }, el("div.rate", n.calls ? money(n.cost.usd, n.cost.complete) : "–"),
      el("div.soft.small", el("div", `${tokens(n.input_tokens)} tokens in`), el("div", `${tokens(n.output_tokens)} out`)),
      n.replayed_calls > 0 && el("div.soft.small", `${count(n.replayed_calls)} of ${count(n.calls)} calls replayed`)),
    el("td", { "data-label": "Time" }, el("div.rate", seconds(n.median_s)), el("div.soft.small", el("div", "median"), el("div", `p95 ${seconds(n.p95_s)}`))));
  return [main, el("tr.more-row", el("td", { colspan: 5 }, fold("More numbers", "", () => moreNumbers(row), "more")))];
}

/* Show the rate with both denominators, each with its interval. */
function rateCell(label, tone, rates, n, size = "") {
  const { all_trials: all, graded } = rates;
  return el("td.rates", { "data-label": label },
    el("div.rate" + size, percent(all.value), el("span.soft.small", ` ${range(all.interval)}`)),
    gauge(label, tone, all), el("div.soft.small", trials(all, n)),
    gauge(label + ", graded cells only", tone + ".narrow", graded), el("div.soft.small", "graded ", percent(graded.value), " ", range(graded.interval), `, ${graded.passed_trials} of ${count(graded.trials)}`));
}

function leftOutLine({ broken, ungraded, controls }) {
  const parts = [broken && `${broken} broken`, ungraded && `${ungraded} ungraded`, controls && `${controls} with broken controls`].filter(Boolean);
  return parts.length > 0 && el("div.soft.small", `not graded: ${parts.join(", ")}`);
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

/* Position a part of the gauge through the CSSOM: the content policy forbids style attributes. */
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

function moreNumbers(row) {
  const n = row.numbers;
  const share = (part, whole) => (whole ? `${part} of ${whole}` : "–");
  const pairs = [
    ["Every step ran", share(n.executed, n.cells - n.counts.skipped)],
    ["All checks hold", share(n.checks_passed, n.cells - n.counts.skipped)],
    ["False success: ran, but a check fails", String(n.false_success)],
    ["Healed by repair", share(n.repairs_healed, n.repairs_tried)],
    ["Plans confirmed", share(n.plans_confirmed, n.plans)],
    ["Plans with a question", String(n.plans_with_question)],
    ["Scripts free of lint errors", share(n.scripts_lint_clean, n.scripts)],
    ["Passed, but slow", String(n.slow)],
    ["Flaky cases over repeats", String(n.flaky_cases)],
    ["Model calls", count(n.calls)],
    ["Cost of a cell", perCost(n.cost_per_cell)],
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
      el("td.num", s.calls ? tokens(s.input_tokens) : ""), el("td.num", s.calls ? tokens(s.output_tokens) : ""), el("td.num", s.calls ? money(s.cost.usd, s.cost.complete) : "")))));
}

function captureTable(captures) {
  return el("table.rows.small-table",
    el("thead", el("tr", ["Capture", "First attempt", "After repair", "Tokens in", "Cost"].map((h, i) => el(i ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", captures.map(({ capture_mode, numbers: n }) => el("tr", el("td.mono", capture_mode),
      el("td.num", `${percent(n.first_attempt.all_trials.value)} (${range(n.first_attempt.all_trials.interval)})`),
      el("td.num", percent(n.after_repair.all_trials.value)), el("td.num", tokens(n.input_tokens)), el("td.num", money(n.cost.usd, n.cost.complete))))));
}

const STATES = { holds: "passed", broken: "failed", unproven: "ungraded" };

export function controlsPanel(rows, open) {
  const sound = rows.filter((row) => [row.oracle, row.noop].every((s) => s === null || s === "holds"));
  const line = (name, key) => {
    const seen = rows.filter((row) => row[key] !== null);
    return seen.length > 0 && `${name} ${seen.filter((row) => row[key] === "holds").length} of ${plural(seen.length, "case")}`;
  };
  const all = sound.length === rows.length;
  return el("section", { "aria-labelledby": "controls-heading" },
    el("div.heading", el("h2", { id: "controls-heading" }, "Controls"),
      el("p.small", "They prove that a case can be passed, but not by doing nothing.")),
    el("div.card.controls",
      el("div.controls-line",
        el("span.badge.is-" + (all ? "passed" : "failed"), icon(all ? "passed" : "failed"), all ? "All hold" : plural(rows.length - sound.length, "case") + " in doubt"),
        el("span.soft", [line("The oracle passes", "oracle"), line("doing nothing fails", "noop")].filter(Boolean).join("; "), ".")),
      !all && controlsTable(rows.filter((row) => !sound.includes(row)), open),
      sound.length > 0 && fold(all ? "Show them" : "Show those that hold", "", () => controlsTable(sound, open), "more")));
}

function controlsTable(rows, open) {
  const state = (row, key, model) => {
    if (row[key] === null) return el("span.soft", "–");
    const tone = STATES[row[key]];
    return el("button.state.is-" + tone, { type: "button", on: { click: () => open(row, model) } }, icon(tone), row[key]);
  };
  return el("div.scroll-x", el("table.rows",
    el("thead", el("tr", ["Case", "Oracle", "Doing nothing", ""].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", rows.map((row) => el("tr", el("td.case-name", { title: row.case_path }, text(row.case_id)),
      el("td", state(row, "oracle", "builtin/oracle")), el("td", state(row, "noop", "builtin/noop")), el("td.soft.small", text(row.reason)))))));
}

export function judgesPanel(judges) {
  if (!judges.length) return null;
  const share = (value) => (value === null ? "–" : percent(value));
  return el("section", { "aria-labelledby": "judges-heading" },
    el("div.heading", el("h2", { id: "judges-heading", "data-short": "Judges" }, "Judging models"), el("p.small", "How far they agree with people, on the cells that people labelled.")),
    el("div.card.controls.scroll-x", el("table.rows.small-table",
      el("thead", el("tr", ["Judge", "Agrees", "Kappa", "Precision of pass", "Recall of pass", "Labels", "No verdict", "Counts in this run"].map((h, i) => el(i && i < 7 ? "th.num" : "th", { scope: "col" }, h)))),
      el("tbody", judges.map((j) => el("tr", el("td", text(j.judge)), el("td.num", j.accuracy === null ? "–" : `${share(j.accuracy)} (${range(j.interval)})`), el("td.num", j.kappa === null ? "–" : j.kappa.toFixed(2)),
        el("td.num", share(j.precision)), el("td.num", share(j.recall)), el("td.num", count(j.n)), el("td.num", count(j.no_verdict)), el("td", j.calibrated ? "yes" : ["advice only: ", text(j.reason)])))))));
}

export function analysisPanel(report) {
  if (!report.local_analysis && !report.local_analysis_error) return null;
  return el("section", { "aria-labelledby": "analysis-heading" },
    el("div.heading", el("h2", { id: "analysis-heading" }, "Local analysis"),
      el("p.small", "Written by ", text(report.local_analysis_model), ". It is an opinion on the numbers and changes none of them.")),
    report.local_analysis ? el("div.card.analysis.text", { dir: "auto" }, report.local_analysis) : el("p.notice", text(report.local_analysis_error)));
}

/* Make links to the sections that this report has. */
export function fillContents(sections) {
  const nav = document.querySelector("nav.contents");
  const links = sections.map((section) => section.querySelector("h2[id]")).filter(Boolean);
  if (links.length > 2) append(nav, links.map((h2) => el("a", { href: "#" + h2.id }, h2.dataset.short ?? h2.textContent)));
}

export function emptyState() {
  return el("section", el("div.card.empty",
    el("h2", "No cells were run"),
    el("p", "A cell is one case on one model. Name the models, point pytest at a folder with case files, and this page will show the results."),
    el("pre", "pytest cases --autoweb-models=builtin/oracle,MODEL")));
}

export function footer(report) {
  return el("footer", el("span", `Report ${report.ts}, format ${report.schema_version}`),
    el("span", el("a", { href: "report.json" }, "report.json"), " · ", el("a", { href: "summary.md" }, "summary.md"), " · ",
      copyButton("Copy analysis prompt", () => report.analysis_prompt)));
}
