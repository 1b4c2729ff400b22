/* Acting by sight: each decision with its marked picture, and the statistics of a model's decisions. */

import { drawn, line, picture, words } from "./charts.js";
import { count, el, fold, icon, modelName, percent, plural, seconds, svg, text } from "./dom.js";
import { addPanel } from "./panels.js";

const STATUSES = {
  performed: ["passed", "passed", "performed"],
  refused: ["broken", "skipped", "refused: nothing was done"],
  failed: ["failed", "failed", "the browser could not do it"],
  invalid: ["ungraded", "ungraded", "the reply was not a decision"],
};
const REFUSALS = {
  circle: "a circle: nothing was done",
  gave_up: "not found or not confirmed: nothing was done",
};
const VERDICTS = { match: "passed", incomplete: "healed", mismatch: "failed", unverifiable: "ungraded" };
const SAID_ELSEWHERE = new Set(["action", "thinking", "reasoning", "confidence", "mark_id", "mark_ids", "expected_text", "expected_texts", "mark_id_text_map"]);

export function decisionsPart(a, views) {
  if (!a.decisions.length) return null;
  const stopped = a.decisions.filter((d) => d.status !== "performed").length;
  return el("section.part.decisions", el("h3", "Decisions", el("span.small", `${count(a.decisions.length)}, ${stopped ? `${stopped} not performed` : "all performed"}`)),
    el("ol", a.decisions.map((d) => decisionCard(d, views))));
}

function decisionCard(d, { source, fileLink, enlarge }) {
  const [tone, sign, usual] = STATUSES[d.status];
  const says = REFUSALS[d.refused_for] ?? usual;
  const box = d.picture && (source(d.picture) ? thumbnail(d, source(d.picture), enlarge) : el("p.soft.small", "picture in ", fileLink(d.picture)));
  const again = d.second_picture && (source(d.second_picture) ? closer(d, source(d.second_picture), enlarge) : el("p.soft.small", "second look in ", fileLink(d.second_picture)));
  const facts = [d.phase !== "act" && d.phase, d.marks > 0 && plural(d.marks, "mark"), d.confidence !== null && `confidence ${percent(d.confidence)}`,
    d.second_look && "second look", d.calls !== 1 && plural(d.calls, "model call"), d.duration_ms > 0 && seconds(d.duration_ms / 1000)];
  return el("li.card.decision.is-" + tone, { "data-decision": d.index },
    el("div.decision-head", el("span.no", String(d.index)), el("b.did", actionName(d)), el("span.how", icon(sign), says)),
    (box || again) && el("div.seen", box, again),
    el("div.told",
      d.feedback.length > 0 && el("div.feedback", el("p.label", "feedback before this decision"), el("ul", d.feedback.map((said) => el("li", { dir: "auto" }, said)))),
      actionFields(d.action),
      d.chosen.map(choice),
      d.error && el("div.error", { dir: "auto" }, d.error),
      el("p.soft.small", facts.filter(Boolean).join(" · "), d.url && [" · ", text(d.url)], d.failed_marks.length > 0 && ` · refused before: ${d.failed_marks.join(", ")}`),
      d.thinking && fold("Thinking", "", () => el("pre.plain", { dir: "auto", tabindex: 0 }, d.thinking), "more")));
}

const actionName = (d) => text(d.action?.action ?? (d.action ? "decision" : "no decision"));

/* The fields of the reply other than the texts that are compared below. */
function actionFields(action) {
  const fields = Object.entries(action ?? {}).filter(([name, value]) => !SAID_ELSEWHERE.has(name) && value !== null && value !== "" && value !== false);
  return fields.length > 0 && el("dl.versus", fields.map(([name, value]) => [el("dt", name), el("dd", { dir: "auto" }, typeof value === "string" ? value : JSON.stringify(value))]));
}

const byText = (c) => c.taken !== null && c.taken !== c.mark;
const choiceTone = (c) => (byText(c) ? "healed" : VERDICTS[c.verdict]);

function choice(c) {
  const other = byText(c), tone = choiceTone(c);
  const facts = [["expected", c.expected_text || "(no text)"], ["actual", c.actual_text || "(no text)", c.verdict === "mismatch"]];
  return el("div.choice.is-" + tone,
    el("p", el("b.mark-no", c.mark === null ? "no number" : String(c.mark)), other && [" → ", el("b.mark-no", String(c.taken))],
      el("span.finding", other ? "the text decided" : c.verdict), c.kind && el("span.soft.small", " ", c.kind)),
    el("dl.versus", facts.map(([name, value, bad]) => [el("dt", name), el("dd" + (bad ? ".bad" : ""), { dir: "auto" }, value)]),
      el("dt", "because"), el("dd.because", { dir: "auto" }, c.reason)));
}

function thumbnail(d, source, enlarge) {
  const label = `The page with its marks at decision ${d.index}`;
  return el("button.shot.marked", { type: "button", "aria-label": `Enlarge: ${label}`, on: { click: () => enlarge(label, spotted(d, source, label)) } }, spotted(d, source, label));
}

/* The picture of the second look, which shows only the elements that could be meant. */
function closer(d, source, enlarge) {
  const label = `The second look at decision ${d.index}`;
  const shown = () => el("img", { src: source, alt: label });
  return el("button.shot.marked", { type: "button", "aria-label": `Enlarge: ${label}`, on: { click: () => enlarge(label, shown()) } }, shown());
}

/* Return the picture with a ring around each chosen element. */
function spotted(d, source, label) {
  const [width, height] = d.viewport ?? [0, 0];
  const rings = d.chosen.filter((c) => c.box && width > 0).map((c) => {
    const ring = el("i.ring-spot.is-" + choiceTone(c));
    const [x, y, w, h] = c.box;
    Object.assign(ring.style, { left: `${(100 * x) / width}%`, top: `${(100 * y) / height}%`, width: `${(100 * w) / width}%`, height: `${(100 * h) / height}%` });
    return ring;
  });
  return el("span.spotted", el("img", { src: source, alt: label, loading: "lazy" }), rings);
}

function decisionsPanel(facts) {
  if (!facts.length) return null;
  return el("section", { "aria-labelledby": "decisions-heading" },
    el("div.heading", el("h2", { id: "decisions-heading" }, "Acting by sight"),
      el("p.small", "How verification judged the elements that models chose, and how well their confidence predicts whether they are right. The errors of verification itself can only be measured with known truth.")),
    el("div.card.listing", el("div.scroll-x", factsTable(facts)), mistakes(facts)),
    el("div.trends.reliabilities", facts.map(reliabilityCard)));
}

const FACTS = [
  ["Decisions", (f) => count(f.decisions)], ["Performed", (f) => count(f.performed)], ["Refused", (f) => count(f.refused)], ["Circles", (f) => count(f.circles ?? 0)], ["Gave up", (f) => count(f.gave_up ?? 0)], ["Failed", (f) => count(f.failed)], ["No decision", (f) => count(f.invalid)],
  ["Match", (f) => count(f.match)], ["Mismatch", (f) => count(f.mismatch)], ["Nothing to compare", (f) => count(f.unverifiable)], ["Text decided", (f) => count(f.overridden)],
  ["Second looks", (f) => count(f.second_looks)], ["Performed after a refusal", (f) => (f.retries ? `${f.retries_performed} of ${f.retries}` : "–")], ["Incomplete text", (f) => count(f.incomplete ?? 0)],
];

function factsTable(facts) {
  return el("table.rows.small-table", el("thead", el("tr", el("th", { scope: "col" }, "Model"), FACTS.map(([name]) => el("th.num", { scope: "col" }, name)))),
    el("tbody", facts.map((f) => el("tr", el("td", modelName(f.model)), FACTS.map(([, show]) => el("td.num", show(f)))))));
}

function mistakes(facts) {
  const rows = facts.flatMap((f) => f.kinds.filter((k) => k.wrong > 0).map((k) => [f.model, k]));
  return rows.length > 0 && fold(`Most mistakes: ${plural(rows.length, "kind")} of elements`, "", () => el("table.rows.small-table",
    el("thead", el("tr", ["Model", "Element", "Wrong", "Chosen"].map((h, i) => el(i > 1 ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", rows.map(([model, k]) => el("tr", el("td", modelName(model)), el("td", text(k.kind)), el("td.num", count(k.wrong)), el("td.num", count(k.chosen)))))), "more");
}

function reliabilityCard({ model, reliability: r }) {
  const shown = r.n > 0 ? `Brier ${r.brier.toFixed(3)}, ECE ${r.ece.toFixed(3)}, n = ${count(r.n)}` : "no data: no confidence came with a choice that could be checked";
  return el("div.card.trend",
    el("div.trend-head", el("div.model-name", modelName(model)), el("div.small.soft", "confidence")),
    el("p.small", shown),
    r.n > 0 && [drawn(`Reliability of the confidence of ${model}. ${r.bins.map(binSays).join("; ")}.`, (width, label) => diagram(width, label, r)),
      fold("As a table", "", () => binsTable(r), "more")]);
}

const binSays = (b) => `confidence ${percent(b.confidence)}: right ${percent(b.right)} of ${b.n}`;

function diagram(width, label, r) {
  const height = 230, left = 40, right = width - 12, top = 10, bottom = height - 34;
  const x = (v) => left + (right - left) * v, y = (v) => bottom - (bottom - top) * v;
  const most = Math.max(...r.bins.map((b) => b.n));
  return picture(width, height, label,
    [0, 0.5, 1].map((v) => [line(left, y(v), right, y(v), v ? "grid" : "axis"), words(left - 6, y(v) + 4, percent(v), "tick", "end"), words(x(v), bottom + 15, percent(v), "tick", v === 1 ? "end" : v ? "middle" : "start")]),
    words((left + right) / 2, height - 4, "confidence; up: share of right choices", "tick", "middle"),
    line(x(0), y(0), x(1), y(1), "border"),
    r.bins.map((b) => svg("circle", { cx: x(b.confidence), cy: y(b.right), r: 3 + 6 * Math.sqrt(b.n / most), class: "dot" }, svg("title", {}, binSays(b)))));
}

function binsTable(r) {
  return el("table.rows.small-table", el("thead", el("tr", ["Confidence", "Mean", "Right", "Decisions"].map((h, i) => el(i ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", r.bins.map((b) => el("tr", el("td", `${percent(b.low)} to ${percent(b.high)}`), el("td.num", percent(b.confidence)), el("td.num", percent(b.right)), el("td.num", count(b.n))))));
}

addPanel("decisions", ({ report }) => decisionsPanel(report.decision_facts));
