/* Where the time of a cell goes. */

import { el, fold, modelName, seconds, text } from "./dom.js";
import { addPanel } from "./panels.js";

const STAGES = ["server", "browser", "open", "plan", "capture", "visual", "generate", "turns", "act", "collect", "lint", "execute", "judge", "repair"];

function stagesPanel(models) {
  const timed = models.filter((row) => row.numbers.stages.some((s) => s.per_cell_s > 0));
  if (!timed.length) return null;
  const seen = new Set(timed.flatMap((row) => row.numbers.stages.filter((s) => s.per_cell_s > 0).map((s) => s.stage)));
  const stages = [...STAGES.filter((s) => seen.has(s)), ...[...seen].filter((s) => !STAGES.includes(s))];
  const total = (row) => row.numbers.stages.reduce((sum, s) => sum + s.per_cell_s, 0);
  const most = Math.max(...timed.map(total));
  return el("section", { "aria-labelledby": "stages-heading" },
    el("div.heading", el("h2", { id: "stages-heading" }, "Time per stage"), el("p.small", "Seconds a cell, on average, over all its attempts.")),
    el("div.card.pictures",
      el("div.bars", timed.map((row) => stageBar(row, stages, total(row), most))),
      el("p.legend", stages.map((stage) => el("span", el("i.stage." + tone(stage)), text(stage)))),
      fold("As a table", "", () => stagesTable(timed, stages, total), "more")));
}

const tone = (stage) => (STAGES.includes(stage) ? "stage-" + stage : "stage-other");
const perCell = (row, stage) => row.numbers.stages.find((s) => s.stage === stage)?.per_cell_s ?? 0;

function stageBar(row, stages, total, most) {
  const parts = stages.filter((stage) => perCell(row, stage) > 0).map((stage) => {
    const part = el("i.stage." + tone(stage), { title: `${stage}: ${seconds(perCell(row, stage))}` });
    part.style.width = `${(100 * perCell(row, stage)) / most}%`;
    return part;
  });
  const says = stages.map((stage) => `${stage} ${seconds(perCell(row, stage))}`).join(", ");
  return el("div.bar-row", el("div.bar-name", modelName(row.model)),
    el("div.stack", { role: "img", "aria-label": `${row.model}: ${says}` }, parts), el("div.bar-total", seconds(total)));
}

function stagesTable(models, stages, total) {
  return el("div.scroll-x", el("table.rows.small-table",
    el("thead", el("tr", ["Model", ...stages, "all"].map((h, i) => el(i ? "th.num" : "th", { scope: "col" }, h)))),
    el("tbody", models.map((row) => el("tr", el("td", modelName(row.model)), stages.map((stage) => el("td.num", perCell(row, stage) ? seconds(perCell(row, stage)) : "–")), el("td.num", seconds(total(row))))))));
}

addPanel("stages", ({ report }) => stagesPanel(report.summary?.models ?? []));
