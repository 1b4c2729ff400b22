/* The comparison of two chosen sides: the verdict, the numbers and the cases that differ. */

import { line, picture, words } from "./charts.js";
import { cellMark, el, fold, modelName, money, percent, plural, range, sameRate, seconds, signedHundredths, svg, text } from "./dom.js";
import { addPanel } from "./panels.js";

const METRICS = { first_attempt: "first attempt", after_repair: "after repair" };
const FLIPS_AT_ONCE = 15;
const FLIPS_LISTED = 300;

class Comparisons {
  constructor(report, links) {
    this.links = links;
    this.baseline = report.baseline;
    this.headline = report.summary?.verdict ?? "";
    this.pairs = report.comparisons.filter((c) => c.kind === "models");
    this.modes = report.comparisons.filter((c) => c.kind === "modes");
    this.runs = report.comparisons.filter((c) => c.kind === "runs");
    const rank = (report.summary?.models ?? []).map((row) => row.model);
    const seen = new Set(this.pairs.flatMap((c) => [c.a.model, c.b.model]));
    this.models = [...rank.filter((m) => seen.has(m)), ...[...seen].filter((m) => !rank.includes(m))];
    this.kind = this.pairs.length ? "models" : this.modes.length ? "modes" : "runs";
    this.mode = 0;
    [this.a, this.b] = this.models;
    this.run = this.runs.findIndex((c) => c.b.model === rank.find((m) => this.runs.some((r) => r.b.model === m)));
    this.box = el("div");
  }

  section() {
    if (!this.pairs.length && !this.modes.length && !this.runs.length) return null;
    this.draw();
    return el("section", { "aria-labelledby": "compare-heading" },
      el("div.heading", el("h2", { id: "compare-heading" }, "Compare two"), el("p.small", "The same cases on both sides, case by case. Only the cases that differ are listed.")),
      el("div.card.compare", this.box));
  }

  draw(focus) {
    const chosen = this.chosen();
    this.box.replaceChildren(this.controls(), chosen ? view(chosen, this.links, this.headline.includes(chosen.verdict)) : el("p.soft", "Choose two different models."));
    if (focus) this.box.querySelector(`[data-focus="${focus}"]`)?.focus();
  }

  chosen() {
    if (this.kind === "runs") return this.runs[Math.max(0, this.run)];
    if (this.kind === "modes") return this.modes[this.mode];
    return this.pairs.find((c) => this.a !== this.b && [this.a, this.b].every((m) => m === c.a.model || m === c.b.model));
  }

  controls() {
    const known = [["models", "Two models", this.pairs], ["modes", "Two capture modes", this.modes], ["runs", "With the baseline", this.runs]].filter(([, , found]) => found.length);
    const kinds = known.length > 1 && el("div.pills", { role: "group", "aria-label": "What to compare" },
      known.map(([kind, label]) =>
        el("button.pill", { type: "button", "aria-pressed": String(this.kind === kind), "data-focus": kind, on: { click: () => {
          this.kind = kind;
          this.draw(kind);
        } } }, label)));
    const choice = { runs: () => this.runChoice(), modes: () => this.modeChoice(), models: () => this.modelChoice() }[this.kind];
    return el("div.toolbar", kinds, choice());
  }

  modelChoice() {
    const pick = (side, label) => select(label, side, this.models.map((m) => [m, m]), this[side], (value) => {
      const other = side === "a" ? "b" : "a";
      if (this[other] === value) this[other] = this[side];
      this[side] = value;
      this.draw(side);
    });
    return [pick("a", "Compare"), pick("b", "with")];
  }

  modeChoice() {
    return select("Compare", "mode", this.modes.map((c, i) => [String(i), `${c.a.label} with ${c.b.label}`]), String(this.mode), (value) => {
      this.mode = Number(value);
      this.draw("mode");
    });
  }

  runChoice() {
    const label = this.baseline ? this.baseline.name || this.baseline.ts : "the baseline";
    const choice = select("Model", "run", this.runs.map((c, i) => [String(i), c.b.model]), String(Math.max(0, this.run)), (value) => {
      this.run = Number(value);
      this.draw("run");
    });
    return [choice, el("span.soft.small", "A is ", text(label), this.baseline?.commit && [", commit ", text(this.baseline.commit)], "; B is this run.")];
  }
}

function select(label, key, choices, value, change) {
  const node = el("select", { "data-focus": key, "aria-label": label }, choices.map(([name, shown]) => el("option", { value: name }, shown)));
  node.value = value;
  node.addEventListener("change", () => change(node.value));
  return el("label.sort", label, node);
}

/* Show a pair; a verdict that stands above the models is not repeated. */
function view(c, links, told) {
  const flips = c.cases.filter((pair) => pair.flip !== "same");
  return el("div",
    !told && el("p.verdict-line.is-" + (c.decisive ? "passed" : "ungraded"), text(c.verdict)),
    el("div.versus-grid", sides(c), difference(c)),
    c.changed.length > 0 && el("p.notice", `These differ between the sides in at least one case and may explain the difference: ${c.changed.join(", ")}.`),
    c.notes.map((note) => el("p.notice", text(note))),
    flipsTable(c, flips, links),
    c.left_out.length > 0 && fold(`${plural(c.cases_left_out ?? c.left_out.length, "case")} left out`, "", () => leftOut(c), "more"));
}

const NO_RATE = { value: null, interval: null, passed_trials: 0, trials: 0 };

function sides(c) {
  const rate = (r) => (r.value === null ? "–" : [percent(r.value), el("span.soft", ` ${range(r.interval)}, ${r.passed_trials} of ${r.trials}`)]);
  const own = (side, name) => rate(side[name]?.all_trials ?? NO_RATE);
  const change = ({ relative, interval }) => (relative === null ? "" : [signed(relative), interval && el("span.soft", ` (${signed(interval.low)} to ${signed(interval.high)})`)]);
  const same = (one, other) => [c.a, c.b].every((side) => sameRate(one(side), other(side)));
  const beyond = ({ restraint: r }) => (r ? `${r.writes} in ${r.beyond} of ${plural(r.cells, "cell")}` : "unknown");
  const compared = (side) => side.compared, whole = (name) => (side) => side[name]?.all_trials ?? NO_RATE;
  const rows = [
    [`Compared cases, ${METRICS[c.metric]}`, rate(c.a.compared), rate(c.b.compared), points(c.difference)],
    // Each rate stands once: a row is here only if it says something else on one of the sides.
    !same(compared, (side) => side.compared_all) && ["with broken and ungraded cells as not passed", rate(c.a.compared_all), rate(c.b.compared_all), ""],
    !same(compared, whole("first_attempt")) && ["All its cells, first attempt", own(c.a, "first_attempt"), own(c.b, "first_attempt"), ""],
    !same(whole("first_attempt"), whole("after_repair")) && ["All its cells, after repair", own(c.a, "after_repair"), own(c.b, "after_repair"), ""],
    c.score && [`Share of the points, ${plural(c.score.cases, "case")}`, percent(c.score.a), percent(c.score.b), [points(c.score.difference), el("span.soft", ` (${points(c.score.interval.low, "")} to ${points(c.score.interval.high, "")})`)]],
    (c.a.restraint || c.b.restraint) && ["Writes beyond the solutions", beyond(c.a), beyond(c.b), ""],
    [c.a, c.b].some((side) => side.cost_per_cell !== 0) && ["Cost of a compared cell", per(c.a), per(c.b), change(c.cost_change)],
    ["Time of a compared cell, mean", seconds(c.a.seconds_per_cell), seconds(c.b.seconds_per_cell), change(c.time_change)],
    c.a.median_s && c.b.median_s && ["The same, median over cases", took(c.a.median_s), took(c.b.median_s), ""],
  ].filter(Boolean);
  return el("div.scroll-x", el("table.rows.sides",
    el("thead", el("tr", el("th"), el("th", { scope: "col" }, "A  ", modelName(c.a.label)), el("th", { scope: "col" }, "B  ", modelName(c.b.label)), el("th", { scope: "col" }, "B against A"))),
    el("tbody", rows.map(([name, a, b, both]) => el("tr", el("th", { scope: "row" }, name), el("td", a), el("td", b), el("td", both))))));
}

const took = ({ value, interval }) => [seconds(value), interval && el("span.soft", ` (${seconds(interval.low)}–${seconds(interval.high)})`)];
const per = (side) => (side.cost_per_cell === null ? "unknown" : money(side.cost_per_cell, true));
const signed = (v) => `${v > 0 ? "+" : v < 0 ? "−" : ""}${Math.abs(v * 100).toFixed(Math.abs(v) < 0.1 ? 1 : 0)}%`;
const points = (v, unit = " points") => (v === null ? "–" : `${signedHundredths(v)}${unit}`);

function difference(c) {
  if (c.difference === null) return null;
  const facts = [
    ["Difference", points(c.difference)],
    ["95% interval", c.interval && `${points(c.interval.low, "")} to ${points(c.interval.high)}`],
    [c.test, c.p !== null && chance(c.p)],
    [`Holm, ${plural(c.family, "comparison")}`, c.family > 1 && c.p_holm !== null && chance(c.p_holm)],
    ["Would have shown (80%)", c.detectable === null ? "no difference at this size" : `${Math.ceil(c.detectable * 100 - 1e-9)} points or more`],
  ].filter(([, value]) => value);
  return el("div.difference", differencePicture(c), el("dl.pairs", facts.map(([name, value]) => [el("dt", name), el("dd", value)])));
}

const chance = (p) => (p < 0.001 ? "p < 0.001" : `p = ${p.toFixed(p < 0.1 ? 3 : 2)}`);

/* The scale runs from B passing 100 points less to B passing 100 points more, with zero in the middle. */
function differencePicture(c) {
  const width = 320, height = 62, x = (v) => 12 + ((width - 24) * (v + 1)) / 2;
  const { low, high } = c.interval ?? { low: c.difference, high: c.difference };
  const label = `B minus A: ${points(c.difference)}${c.interval ? `, 95% interval ${points(low, "")} to ${points(high)}` : ""}`;
  const drawing = picture(width, height, label,
    line(12, 24, width - 12, 24, "grid"), line(x(0), 8, x(0), 40, "axis"),
    svg("path", { class: "whisker", d: `M${x(low)} 19V29M${x(low)} 24H${x(high)}M${x(high)} 19V29` }),
    svg("circle", { cx: x(c.difference), cy: 24, r: 5.5, class: "dot" }),
    words(12, 56, "A better", "tick"), words(x(0), 56, "equal", "tick", "middle"), words(width - 12, 56, "B better", "tick", "end"));
  drawing.setAttribute("class", "fluid");
  return drawing;
}

function flipsTable(c, flips, links) {
  const differing = c.gained + c.lost;
  if (!flips.length) return el("p.soft.flips-title", c.same ? `${plural(c.same, "case")} compared, none differs.` : "No case could be compared.");
  const rest = flips.slice(FLIPS_AT_ONCE, FLIPS_LISTED);
  return el("div",
    el("h3.flips-title", `${plural(differing, "case")} differ${differing === 1 ? "s" : ""}, ${c.same} ${c.same === 1 ? "does" : "do"} not`,
      el("span.soft.small", ` B passes ${c.gained} more often, ${c.lost} less often`)),
    flipRows(c, flips.slice(0, FLIPS_AT_ONCE), links),
    rest.length > 0 && fold(`${rest.length} more`, "", () => flipRows(c, rest, links), "more"),
    differing > FLIPS_LISTED && el("p.soft.small", `${differing - FLIPS_LISTED} more in report.json`));
}

function flipRows(c, flips, links) {
  const marks = (outcomes, folders, label) => el("td", el("div.group", outcomes.map((outcome, i) => cellMark(outcome, label, folders[i] && links.opener(folders[i])))));
  const here = c.kind !== "runs"; // The baseline's cells are in another report.
  return el("div.scroll-x", el("table.rows.flips",
    el("thead", el("tr", ["Case", "A", "B", ""].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", flips.map((pair) => el("tr",
      el("td.case-name", { title: pair.case_path }, text(pair.case_id), pair.changed.length > 0 && el("span.tag", ` ${pair.changed.join(", ")} changed`)),
      marks(pair.outcomes_a, here ? pair.folders_a : [], `${pair.case_id}, ${c.a.label}`), marks(pair.outcomes_b, pair.folders_b, `${pair.case_id}, ${c.b.label}`),
      el("td", direction(c, pair)))))));
}

/* A change between runs is good or bad; a difference between models is neither. */
function direction(c, { flip }) {
  if (c.kind !== "runs") return el("span.direction.plain", flip === "gained" ? "B better" : "A better");
  return el("span.direction.is-" + (flip === "gained" ? "passed" : "failed"), flip === "gained" ? "better now" : "worse now");
}

function leftOut({ left_out: rows, cases_left_out: all = rows.length }) {
  return [el("div.scroll-x", el("table.rows.small-table", el("tbody", rows.map((row) =>
    el("tr", el("td.case-name", { title: row.case_path }, text(row.case_id), row.capture_mode && el("span.tag", ` ${row.capture_mode}`)), el("td", text(row.message))))))),
    all > rows.length && el("p.soft.small", `${all - rows.length} more in report.json`)];
}

addPanel("comparison", ({ report, links }) => new Comparisons(report, links).section());
