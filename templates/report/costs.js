/* What success costs. */

import { drawn, line, picture, placeLabels, scale, whisker, words } from "./charts.js";
import { el, fold, modelName, money, percent, range, seconds, svg } from "./dom.js";
import { addPanel } from "./panels.js";

const MEASURES = {
  cost: { label: "Cost of a cell", of: (n) => n.cost_per_cell, show: (v) => money(v, true), zero: "free", none: "no price" },
  time: { label: "Median time of a cell", of: (n) => n.median_s, show: seconds, zero: "0 s", none: "no time" },
};
const RATES = { after_repair: "After repair", first_attempt: "First attempt" };

function costPanel(models) {
  const rated = models.filter((row) => row.numbers.first_attempt.all_trials.value !== null);
  if (!rated.length) return null;
  const priced = rated.some((row) => row.numbers.cost_per_cell > 0);
  // Of two models without a price, the table above says as much.
  if (!priced && rated.length < 3) return null;
  const state = { measure: priced ? "cost" : "time", rate: "after_repair" };
  const box = el("div");
  const draw = () => box.replaceChildren(costPicture(rated, state));
  draw();
  return el("section", { "aria-labelledby": "cost-heading" },
    el("div.heading", el("h2", { id: "cost-heading" }, "Cost against success"),
      el("p.small", priced ? "Up and to the left is better. The cost includes repairs." : "No model of this run has a known cost above zero, so the chart shows time instead of cost.")),
    el("div.card.pictures",
      el("div.toolbar", chooser("Cost or time", Object.entries(MEASURES).map(([key, m]) => [key, m.label]), state, "measure", draw),
        chooser("Rate", Object.entries(RATES), state, "rate", draw)),
      box,
      fold("As a table", "", () => costTable(models), "more")));
}

function chooser(label, choices, state, key, draw) {
  const group = el("div.pills", { role: "group", "aria-label": label });
  for (const [value, name] of choices) {
    const pill = el("button.pill", { type: "button", "aria-pressed": String(state[key] === value) }, name);
    pill.addEventListener("click", () => {
      state[key] = value;
      for (const other of group.children) other.setAttribute("aria-pressed", String(other === pill));
      draw();
    });
    group.append(pill);
  }
  return group;
}

function costPicture(models, state) {
  const measure = MEASURES[state.measure];
  const says = models.map((row) => `${row.model}: ${percent(row.numbers[state.rate].all_trials.value)}, ${measured(measure, row.numbers)}`);
  return drawn(`${measure.label} against ${RATES[state.rate].toLowerCase()} rate. ${says.join("; ")}.`, (width, label) => scatter(width, label, models, measure, state.rate));
}

const measured = (measure, n) => (measure.of(n) === null ? measure.none : measure.show(measure.of(n)));

const BAND = 76;
const FRAME = { left: 42, right: 12, top: 14, bottom: 42 };

function scatter(width, label, models, measure, rate) {
  const height = Math.max(280, Math.min(400, width * 0.5), 60 + models.length * 22);
  const value = (row) => measure.of(row.numbers);
  const free = models.filter((row) => value(row) === 0), unknown = models.filter((row) => value(row) === null);
  const known = models.filter((row) => value(row) > 0);
  const bandWidth = known.length ? BAND : (width - FRAME.left - FRAME.right) / Math.max(1, (free.length > 0) + (unknown.length > 0));
  const left = FRAME.left + (free.length ? bandWidth : 0), right = width - FRAME.right - (unknown.length ? bandWidth : 0);
  const bottom = height - FRAME.bottom;
  const y = (v) => bottom - (bottom - FRAME.top) * v;
  const parts = [0, 0.25, 0.5, 0.75, 1].map((v) => [line(FRAME.left, y(v), width - FRAME.right, y(v), v ? "grid" : "axis"), words(FRAME.left - 7, y(v) + 4, percent(v), "tick", "end")]);
  const points = [
    ...band(free, FRAME.left, FRAME.left + bandWidth), ...band(unknown, right, width - FRAME.right)];
  if (free.length) parts.push(bandMark(FRAME.left, bandWidth, bottom, measure.zero, known.length > 0 ? left : null));
  if (unknown.length) parts.push(bandMark(right, bandWidth, bottom, measure.none, known.length > 0 || free.length > 0 ? right : null));
  if (known.length) {
    const axis = scale(known.map(value), left + 14, right - 14);
    parts.push(ticks(axis, measure, bottom, left, right));
    parts.push(words((left + right) / 2, height - 6, measure.label + (axis.log ? ", logarithmic" : ""), "tick", "middle"));
    points.push(...known.map((row) => ({ row, x: axis.place(value(row)) })));
  }
  for (const point of points) Object.assign(point, { y: y(point.row.numbers[rate].all_trials.value), label: point.row.model });
  keepApart(points, FRAME.left, width - FRAME.right);
  parts.push(points.map((point) => dot(point, y, rate)));
  const area = { x: FRAME.left + 2, y: 2, w: width - FRAME.left - FRAME.right, h: bottom - 4 };
  const whiskers = points.map(({ row, x }) => {
    const { low, high } = row.numbers[rate].all_trials.interval;
    return { x: x - 4, y: y(high), w: 8, h: y(low) - y(high) };
  });
  parts.push(placeLabels(points.slice().sort((a, b) => a.y - b.y), area, whiskers).map(labelled));
  return picture(width, height, label, parts);
}

function band(rows, from, to) {
  return rows.map((row, i) => ({ row, x: from + ((to - from) * (i + 1)) / (rows.length + 1) }));
}

function bandMark(from, width, bottom, name, border) {
  return [words(from + width / 2, bottom + 17, name, "tick", "middle"), border !== null && line(border, FRAME.top, border, bottom + 6, "border")];
}

function ticks(axis, measure, bottom, left, right) {
  let free = -Infinity;
  return axis.ticks.map((tick) => {
    const x = axis.place(tick);
    if (x < Math.max(left + 4, free) || x > right - 4) return null;
    free = x + 58;
    return [line(x, bottom, x, bottom + 5, "axis"), words(x, bottom + 17, measure.show(tick), "tick", "middle")];
  });
}

/* Points at the same place are drawn side by side; the table has the exact numbers. */
function keepApart(points, from, to) {
  const placed = [];
  for (const point of points.sort((a, b) => a.x - b.x)) {
    while (placed.some((p) => Math.abs(p.x - point.x) < 11)) point.x += 1;
    placed.push(point);
  }
  const over = Math.max(0, ...points.map((p) => p.x - (to - 8)));
  for (const point of points) point.x = Math.max(from + 8, point.x - over);
}

function dot({ row, x, y: at }, y, rate) {
  const { interval, value } = row.numbers[rate].all_trials;
  const says = `${row.model}: ${percent(value)} (${range(interval)}), ${money(row.numbers.cost.usd, row.numbers.cost.complete)} in all, ${seconds(row.numbers.median_s)} median`;
  return svg("g", {}, svg("title", {}, says), interval && whisker(x, y(interval.low), y(interval.high)), svg("circle", { cx: x, cy: at, r: 5.5, class: "dot" }));
}

function labelled({ x, y, w, h, content, point }) {
  const middle = y + h / 2, far = Math.abs(middle - point.y) > h;
  const edge = x > point.x ? x - 1 : x + w + 1;
  return svg("g", {}, far && line(point.x, point.y, edge, middle, "leader"), words(x + 2, y + h - 4, content, "label"));
}

function costTable(models) {
  const rate = ({ value, interval }) => (value === null ? "–" : `${percent(value)} (${range(interval)})`);
  const per = (v) => (v === null ? "unknown" : money(v, true));
  return el("div.scroll-x", el("table.rows.small-table",
    el("thead", el("tr", ["Model", "First attempt", "After repair", "Cost", "Per cell", "Per passed cell", "Median time"].map((h, i) => el(i ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", models.map(({ model, numbers: n }) => el("tr", el("td", modelName(model)), el("td.num", rate(n.first_attempt.all_trials)), el("td.num", rate(n.after_repair.all_trials)),
      el("td.num", money(n.cost.usd, n.cost.complete)), el("td.num", per(n.cost_per_cell)), el("td.num", n.counts.passed + n.counts.healed ? per(n.cost_per_pass) : "–"), el("td.num", seconds(n.median_s)))))));
}

addPanel("costs", ({ report }) => costPanel(report.summary?.models ?? []));
