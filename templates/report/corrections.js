/* How first attempts failed, and what corrections gained over retrying without feedback. */

import { count, el, failureName, modelName, percent, signedHundredths, text, withSign } from "./dom.js";
import { addPanel } from "./panels.js";

function correctionsPanel(facts) {
  const failed = facts.filter((f) => f.failed_first > 0);
  // Of the ordinary repair alone, the models' rates say all that there is.
  if (!failed.some((f) => f.arms.some((arm) => arm.arm !== "off"))) return null;
  return el("section", { "aria-labelledby": "corrections-heading" },
    el("div.heading", el("h2", { id: "corrections-heading" }, "Failures and corrections"),
      el("p.small", "The failure types of first attempts, and how many of these cells each correction method recovered. A gain is only claimed over the control arm, which retries after the same failures without any feedback.")),
    el("div.card.listing.corrections", ownScroll("Failures", typesTable(failed)), ownScroll("Corrections", armsTable(failed)), differences(failed)));
}

/* Arms have the same retries, pauses and reasons to stop; where one differs by its nature, say so. */
function differences(facts) {
  const told = new Map(facts.flatMap((f) => f.arms).filter((a) => a.differs).map((a) => [a.label || a.arm, a.differs]));
  if (!told.size) return null;
  return el("p.small", "The methods have the same number of retries, the same pauses and the same reasons to stop, except that ",
    text([...told].map(([name, differs]) => `${name} ${differs}`).join("; ")), ".");
}

/* The tables are wider than a phone, so they scroll, and get the focus to scroll by keyboard. */
const ownScroll = (name, table) => el("div.scroll-x", { role: "region", tabindex: "0", "aria-label": name }, table);

function typesTable(facts) {
  return el("table.rows.small-table", el("thead", el("tr", ["Model", "Failed first", "Types", "Repeated calls", "From cache"].map((h, i) => el(i === 0 || i === 2 ? "th" : "th.num", { scope: "col" }, h)))),
    el("tbody", facts.map((f) => el("tr", el("td", modelName(f.model)), el("td.num", `${f.failed_first} of ${f.cells}`),
      el("td", f.types.map((t) => `${failureName(t.type)} ${t.count}${t.by_model ? ` (${t.by_model} named by a model)` : ""}`).join(", ")), el("td.num", count(f.duplicates)), el("td.num", count(f.cached))))));
}

const gainSpan = (at) => (at ? ` (${signedHundredths(at.low)} to ${signedHundredths(at.high)})` : "");
const span = (at) => (at ? ` (${percent(at.low)} to ${percent(at.high)})` : "");
const COLUMNS = [
  ["Recovered", (a) => `${a.recovered} of ${a.cells}${span(a.interval)}`], ["Retries", (a) => count(a.retries)], ["Calls", (a) => count(a.calls)],
  ["Cost", (a) => (a.cost_usd === null ? "unknown" : `$${a.cost_usd.toFixed(4)}`)],
  ["Gain over plain", (a) => (a.control ? "–" : a.gain === null ? "not measured" : `${signedHundredths(a.gain)} points${gainSpan(a.gain_interval)}`)],
  ["Only this / only plain", (a) => (a.gain === null ? "–" : `${a.only_this} / ${a.only_plain} of ${a.pairs} cases`)],
  ["p", (a) => (a.p === null ? "–" : a.p.toFixed(3))], ["Calls beyond plain", (a) => (a.calls_more === null ? "–" : withSign(a.calls_more))],
];

function armsTable(facts) {
  return el("table.rows.small-table", el("thead", el("tr", el("th", { scope: "col" }, "Model"), el("th", { scope: "col" }, "Correction"), COLUMNS.map(([name]) => el("th.num", { scope: "col" }, name)))),
    el("tbody", facts.flatMap((f) => f.arms.map((a) => el("tr", el("td", modelName(f.model)), el("td", text(a.label || a.arm)), COLUMNS.map(([, show]) => el("td.num", show(a))))))));
}

addPanel("corrections", ({ report }) => correctionsPanel(report.corrections));
