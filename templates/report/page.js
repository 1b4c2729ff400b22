/* The frame of the first page: what was run, the contents, the foot. */

import { append, copyButton, el, icon, modelName, plural, seconds, text } from "./dom.js";

export function masthead(report, contestants) {
  const cases = new Set(report.cases.filter((c) => c.cells.length).map((c) => c.case_path + "\n" + c.id));
  const title = contestants.length
    ? [plural(report.summary?.models.length ?? report.models.length, "model"), plural(cases.size, "case"), plural(contestants.length, "cell")].join(", ")
    : cases.size ? `Controls of ${plural(cases.size, "case")}` : "Nothing to compare yet";
  return [
    el("div.masthead",
      el("div",
        el("p.eyebrow", icon("scales"), "pytest-autoweb report"),
        el("h1", title),
        facts(report)),
      themeButton()),
    el("nav.contents", { "aria-label": "Sections" }),
    el("details.ran",
      el("summary", "Settings and environment"),
      el("div.card.ran-grid",
        el("div", el("h3", "Settings"), settingsTable(report.settings)),
        el("div", el("h3", "Environment"), pairsTable(Object.entries(report.environment))),
        report.agents?.map((agent) => el("div", el("h3", "Outside agent ", text(agent.name)), pairsTable([
          ["version", agent.version || "unknown"], ["command", agent.command.join(" ") || "not there"],
          ["checksum", agent.checksum.slice(0, 16)], ["held", agent.held || "not recorded"], ["cells", String(agent.cells)], ["models", agent.models.join(", ")]]))),
        report.model_settings?.map(({ model, settings }) => el("div", el("h3", modelName(model)),
          pairsTable(settings.map((row) => [row.name, row.value, row.source])))))),
    outsideAgents(report.agents ?? []),
    report.shard && el("p.notice", `This is shard ${report.shard[0]} of ${report.shard[1]}: only a part of the cells was run here.`),
    report.rejudging && el("p.notice", "The cells were judged again offline by autoweb run rejudge, from the evidence that the run kept. ", plural(report.rejudging.cells.filter((c) => c.before !== c.after).length, "outcome"), " changed."),
    replayedNotice(report),
    report.interrupted && el("p.notice", "The run was interrupted: cells that never started count as skipped."),
    report.notes.map((note) => el("p.notice", text(note))),
  ];
}

/* Readers have to know which programs of other people ran here, and what held them. */
function outsideAgents(agents) {
  const notes = Map.groupBy(agents, (agent) => agent.not_held);
  return [...notes].map(([note, held]) => {
    const names = new Set(held.map((agent) => agent.version ? `${agent.name} (${agent.version})` : agent.name));
    return el("p.notice", el("b", "Outside agents ran: "), text([...names].join(", ")), ": ", text(note), ".");
  });
}

function replayedNotice(report) {
  const replayed = report.cases.flatMap((item) => item.cells).filter((cell) => cell.traffic === "replayed").length;
  return replayed > 0 && el("p.notice", `${plural(replayed, "cell")} met recorded traffic: no live site was asked.`);
}

/* What pytest's exit statuses mean. */
const ENDED = { 0: "the run passed", 1: "the run failed", 2: "the run was interrupted" };

function facts(report) {
  const workers = report.workers
    ? `${plural(report.workers, "xdist worker")}: times are of a shared machine`
    : "one process";
  const commit = report.environment.git;
  const entries = [
    [new Date(report.started).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" })],
    [seconds(report.duration_s), "in all"],
    [workers],
    report.capture_modes.length > 1 && [report.capture_modes.join(", "), "captures"],
    commit && [commit.slice(0, 24), "commit"],
    report.exit_status !== null && [ENDED[report.exit_status] ?? `exit status ${report.exit_status}`],
  ];
  return el("p.facts", entries.filter(Boolean).map(([value, label]) => el("span", el("b", text(value)), label && " " + label)));
}

export function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = el("button.quiet.theme", { type: "button", "aria-label": "Switch between light and dark" }, icon("theme"));
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("autoweb-theme", root.dataset.theme);
    } catch {
      /* Some browsers deny storage to pages opened from disk; the choice then lasts for this view. */
    }
  });
  return button;
}

function settingsTable(settings) {
  const rows = Object.entries(settings).map(([name, setting]) => {
    const known = setting !== null && typeof setting === "object" && "value" in setting;
    const source = known ? setting.source ?? setting.origin ?? "" : "";
    return [name, show(known ? setting.value : setting), source];
  });
  return pairsTable(rows);
}

function show(value) {
  if (value === null || value === "" || (Array.isArray(value) && !value.length)) return "–";
  if (Array.isArray(value) && value.every((item) => typeof item !== "object")) return value.join(", ");
  return typeof value === "string" ? value : JSON.stringify(value);
}

export function pairsTable(rows) {
  if (!rows.length) return el("p.soft.small", "Not recorded.");
  return el("table.rows", el("tbody", rows.map(([name, value, source]) =>
    el("tr" + (source && source !== "default" ? ".chosen" : ""), el("td", name), el("td", text(value)), source !== undefined && el("td.soft", text(source))))));
}

/* Make links to the sections that this run has. */
export function fillContents(sections) {
  const nav = document.querySelector("nav.contents");
  const links = sections.map((section) => section.querySelector("h2[id]")).filter(Boolean);
  if (links.length > 2) append(nav, links.map((h2) => el("a", { href: "#" + h2.id }, h2.dataset.short ?? h2.textContent)));
}

export function footer(report) {
  return el("footer", el("span", `Report ${report.ts}, format ${report.schema_version}`),
    el("span", el("a", { href: "report.json" }, "report.json"), " · ", el("a", { href: "summary.md" }, "summary.md"), " · ",
      copyButton("Copy analysis prompt", () => report.analysis_prompt)));
}
