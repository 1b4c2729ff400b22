/* The controls: whether each case can be passed, and cannot be passed by doing nothing. */

import { el, fold, icon, plural, text } from "./dom.js";
import { addPanel } from "./panels.js";

const STATES = { holds: "passed", broken: "failed", unproven: "ungraded" };

function controlsPanel(rows, open) {
  const sound = rows.filter((row) => [row.oracle, row.noop].every((s) => s === null || s === "holds"));
  const line = (name, key) => {
    const seen = rows.filter((row) => row[key] !== null);
    return seen.length > 0 && `${name} ${seen.filter((row) => row[key] === "holds").length} of ${plural(seen.length, "case")}`;
  };
  const chance = byChance(rows);
  const parts = [line("The oracle passes", "oracle"), line("doing nothing fails", "noop"), chance && text(chance)].filter(Boolean);
  const all = sound.length === rows.length;
  return el("section", { "aria-labelledby": "controls-heading" },
    el("div.heading", el("h2", { id: "controls-heading" }, "Controls"),
      el("p.small", "They prove that a case can be passed, and that it cannot be passed by doing nothing.")),
    el("div.card.controls",
      el("div.controls-line",
        el("span.badge.is-" + (all ? "passed" : "failed"), icon(all ? "passed" : "failed"), all ? "All hold" : plural(rows.length - sound.length, "case") + " in doubt"),
        el("span.soft", parts.flatMap((part, at) => (at > 0 ? ["; ", part] : [part])), ".")),
      !all && controlsTable(rows.filter((row) => !sound.includes(row)), open),
      sound.length > 0 && fold(all ? "Show them" : "Show those that hold", "", () => controlsTable(sound, open), "more")));
}

function byChance(rows) {
  const sum = (key) => rows.reduce((total, row) => total + row[key], 0);
  const always = rows.filter((row) => row.random_runs > 0 && row.random_passed === row.random_runs);
  if (sum("random_runs") === 0) return "";
  return `random actions passed ${sum("random_passed")} of ${plural(sum("random_runs"), "run")}`
    + (always.length > 0 ? `, every time in ${always.map((row) => row.case_id).join(", ")}` : "");
}

function controlsTable(rows, open) {
  const state = (row, key, model) => {
    if (row[key] === null) return el("span.soft", "–");
    const tone = STATES[row[key]];
    return el("button.state.is-" + tone, { type: "button", on: { click: () => open(row, model) } }, icon(tone), row[key]);
  };
  const chance = (row) => row.random_runs === 0 ? el("span.soft", "–")
    : el("button.state", { type: "button", on: { click: () => open(row, "builtin/random") } }, `passed ${row.random_passed} of ${row.random_runs}`);
  return el("div.scroll-x", el("table.rows",
    el("thead", el("tr", ["Case", "Oracle", "Doing nothing", "Random actions", ""].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", rows.map((row) => el("tr", el("td.case-name", { title: row.case_path }, text(row.case_id)),
      el("td", state(row, "oracle", "builtin/oracle")), el("td", state(row, "noop", "builtin/noop")), el("td", chance(row)), el("td.soft.small", text(row.reason)))))));
}

addPanel("controls", ({ report, openControl }) => report.summary?.controls.length > 0 && controlsPanel(report.summary.controls, openControl));
