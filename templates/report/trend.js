/* Each model over the saved runs. */

import { drawn, line, picture, words } from "./charts.js";
import { count, el, fold, modelName, money, percent, plural, range, seconds, svg, text } from "./dom.js";
import { addPanel } from "./panels.js";

function trendPanel(history) {
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

addPanel("trend", ({ report }) => trendPanel(report.history));
