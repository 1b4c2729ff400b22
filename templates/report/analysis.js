/* What a local model said about the run. */

import { el, text } from "./dom.js";
import { addPanel } from "./panels.js";

function analysisPanel(report) {
  if (!report.local_analysis && !report.local_analysis_error) return null;
  return el("section", { "aria-labelledby": "analysis-heading" },
    el("div.heading", el("h2", { id: "analysis-heading" }, "Local analysis"),
      el("p.small", "Written by ", text(report.local_analysis_model), ". It is an opinion on the numbers and changes none of them.")),
    report.local_analysis ? el("div.card.analysis.text", { dir: "auto" }, report.local_analysis) : el("p.notice", text(report.local_analysis_error)));
}

addPanel("analysis", ({ report }) => analysisPanel(report));
