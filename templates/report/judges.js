/* How far judging models agree with people. */

import { count, el, percent, plural, range, text } from "./dom.js";
import { addPanel } from "./panels.js";

function judgesPanel(judges, panels) {
  if (!judges.length && !panels.length) return null;
  const share = (value) => (value === null ? "–" : percent(value));
  return el("section", { "aria-labelledby": "judges-heading" },
    el("div.heading", el("h2", { id: "judges-heading", "data-short": "Judges" }, "Judging models"), judges.length > 0 && el("p.small", "How far they agree with people, on the cells that people labelled.")),
    panels.map((found) => el("p.notice", `Several judges vote; more than half decide. They agree with each other on ${found.unanimous} of ${plural(found.checks, "check")}, Krippendorff's alpha ${found.alpha === null ? "unknown" : found.alpha.toFixed(2)}, no majority on ${count(found.undecided)}: `, text(found.judges.join(", ")))),
    judges.length > 0 && el("div.card.controls.scroll-x", el("table.rows.small-table",
      el("thead", el("tr", ["Judge", "Agrees", "Kappa", "Precision of pass", "Recall of pass", "Labels", "No verdict", "Counts in this run"].map((h, i) => el(i && i < 7 ? "th.num" : "th", { scope: "col" }, h)))),
      el("tbody", judges.map((j) => el("tr", el("td", text(j.judge)), el("td.num", j.accuracy === null ? "–" : `${share(j.accuracy)} (${range(j.interval)})`), el("td.num", j.kappa === null ? "–" : j.kappa.toFixed(2)),
        el("td.num", share(j.precision)), el("td.num", share(j.recall)), el("td.num", count(j.n)), el("td.num", count(j.no_verdict)), el("td", j.calibrated ? "yes" : ["advice only: ", text(j.reason)])))))));
}

addPanel("judges", ({ report }) => judgesPanel(report.judges, report.judge_panels ?? []));
