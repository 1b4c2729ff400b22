/* The gates, which decide the exit status, and the notes that every reader must see first. */

import { el, fold, icon, modelName, plural, text } from "./dom.js";
import { addPanel } from "./panels.js";

const TONES = { true: "passed", false: "failed", null: "ungraded" };
const WORDS = { true: "holds", false: "failed", null: "not decided" };

function gatesPanel(report) {
  const gates = report.gates.filter((g) => !isNotice(g));
  const notices = report.gates.filter(isNotice);
  if (!report.gates.length) return null;
  const failed = gates.filter((g) => g.passed === false && !g.soft);
  const sound = gates.filter((g) => g.passed === true);
  const rest = gates.filter((g) => g.passed !== true).sort((a, b) => rank(a) - rank(b));
  const open = gates.filter((g) => g.passed === null);
  const tone = failed.length ? "failed" : open.length === gates.length ? "ungraded" : "passed";
  const title = failed.length ? `${failed.length} of ${plural(gates.length, "gate")} failed`
    : !gates.length ? "Notes" : tone === "ungraded" ? "No gate was decided"
    : sound.length === gates.length ? "All gates hold" : `${sound.length} of ${plural(gates.length, "gate")} hold`;
  return el("section.gates.card.is-" + tone, { "aria-labelledby": "gates-heading" },
    el("h2", { id: "gates-heading", "data-short": "Gates" }, icon(tone), title),
    rest.length > 0 && el("ul", rest.map(gate)),
    sound.length > 0 && (sound.length < 4 ? el("ul", sound.map(gate)) : fold(`${sound.length} gates hold`, "", () => el("ul", sound.map(gate)), "more")),
    notices.length > 0 && el("ul", notices.map(gate)));
}

/* Reports of earlier versions do not mark the line on the baseline. */
const isNotice = (g) => g.notice || (g.name === "baseline" && g.passed === null);

const rank = (g) => (g.passed === null ? 2 : g.soft ? 1 : 0);

function gate(g) {
  const tone = g.soft && g.passed === false ? "broken" : TONES[g.passed];
  const word = g.soft && g.passed === false ? "failed (soft)" : isNotice(g) ? "notice" : WORDS[g.passed];
  return el("li.is-" + tone, icon(tone), el("div",
    el("p", el("b", text(g.name), g.model && [" ", modelName(g.model)]), el("span.state-word", word)),
    el("p", text(g.message)),
    g.details.length > 0 && el("ul.small.soft", g.details.map((detail) => el("li", text(detail))))));
}

addPanel("gates", ({ report }) => gatesPanel(report));
