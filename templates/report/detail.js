/* The details of one cell: its attempts with plan, steps, checks, code, logs, prompts and replies. */

import { codeView, diffView } from "./code.js";
import { OUTCOMES, badge, copyButton, count, el, fold, icon, modelName, money, percent, plural, reasonOf, seconds, text, tokens } from "./dom.js";
import { decisionsPart } from "./decisions.js";
import { handoverButtons, traceCommand } from "./handover.js";
import { locationsPart } from "./locations.js";
import { seenInStep } from "./looks.js";
import { stageTable } from "./models.js";
import { picturesPart } from "./pictures.js";

const STEP_TONES = { ok: "passed", failed: "failed", blocked: "broken", skipped: "skipped", not_run: "skipped", corrected: "healed" };
const STEP_WORDS = { ok: "ok", failed: "failed", blocked: "blocked", skipped: "skipped", not_run: "not run", corrected: "corrected" };
/* How a plan says that a step is reached by its address. */
const BY_ADDRESS = "Direct URL";
const plain = (content) => el("pre.plain", { dir: "auto", tabindex: 0 }, content);
const part = (title, ...content) => el("section.part", el("h3", title), content);

export class Detail {
  constructor(dialog, zoom, pictures, rejudging, run, go) {
    Object.assign(this, { dialog, zoom, pictures, rejudging, run, go });
    dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      go(null);
    });
    dialog.addEventListener("click", (event) => event.target === dialog && go(null));
    zoom.addEventListener("click", (event) => event.target === zoom && zoom.close());
  }

  /* A note for cells that `autoweb run rejudge` judged again, with the outcome before. */
  rejudged({ cell }) {
    const same = (row) => ["case_id", "case_path", "model", "capture_mode", "repeat"].every((name) => row[name] === cell[name]);
    const row = this.rejudging?.cells.find(same);
    if (!row) return null;
    return el("p.notice", row.before === row.after ? "Judged again offline by autoweb run rejudge: the outcome is unchanged." : `Judged again offline by autoweb run rejudge: ${row.before} in the run, ${row.after} now.`,
      row.notes.map((note) => [" ", text(note)]));
  }

  show(entry, attemptIndex, siblings, neighbours) {
    this.entry = entry;
    this.attemptInView = undefined;
    const { cell } = entry;
    const attempts = cell.attempts;
    const chosen = attempts.find((a) => a.attempt_index === attemptIndex) ?? decidingAttempt(cell);
    this.fill(neighbours, this.head(entry, siblings), this.rejudged(entry), attempts.length ? this.attempts(cell, chosen) : this.noAttempt(cell), this.recordings(cell));
  }

  /* Show what the page itself knows of a cell whose details are elsewhere. */
  showLine(entry, neighbours, says) {
    const { cell } = entry;
    this.fill(neighbours,
      el("header.detail-head", badge(cell.outcome), el("h2", { id: "detail-title" }, text(cell.case_id)), el("p.by", "on ", modelName(cell.model)),
        el("p.task", { dir: "auto" }, cell.user_task),
        cell.reason && el("div.reason.is-" + cell.outcome, el("p", el("b", OUTCOMES[cell.outcome].label + ". "), text(reasonOf(cell))))),
      el("p.soft", { role: "status" }, says), el("p.small", fileLink(`${cell.folder}/cell.json`)));
  }

  fill(neighbours, ...content) {
    this.dialog.replaceChildren(this.bar(neighbours), el("div.detail-body", content));
    if (!this.dialog.open) this.dialog.showModal();
    else this.dialog.querySelector(`button[data-focus="${this.focus ?? "close"}"]:not(:disabled)`)?.focus();
    this.focus = undefined;
    this.dialog.scrollTop = 0;
  }

  hide() {
    if (this.dialog.open) this.dialog.close();
    this.dialog.replaceChildren();
  }

  bar({ before, after }) {
    const step = (label, target) => el("button.quiet", { type: "button", disabled: !target, "data-focus": label, on: { click: () => {
      this.focus = label;
      this.go(target, true);
    } } }, label);
    return el("div.detail-bar", el("div", step("Previous", before), step("Next", after)),
      el("button.quiet", { type: "button", autofocus: true, "data-focus": "close", on: { click: () => this.go(null) } }, "Close"));
  }

  head({ cell }, siblings) {
    const usage = Object.values(cell.usage);
    const sum = (key) => usage.reduce((total, u) => total + (u[key] ?? 0), 0);
    const priced = usage.filter((u) => u.cost_usd !== null);
    const cost = priced.length ? priced.reduce((total, u) => total + u.cost_usd, 0) : null;
    const metrics = [
      ["Time", seconds(cell.duration_ms / 1000)],
      ["Model calls", count(sum("calls"))],
      ["Tokens", inAndOut({ input_tokens: sum("input_tokens"), cached_tokens: sum("cached_tokens"), output_tokens: sum("output_tokens"), reasoning_tokens: sum("reasoning_tokens") })],
      ["Cost", sum("calls") ? money(cost, sum("unpriced_calls") === 0) : "–"],
      ...(differ(siblings, "capture_mode") ? [["Capture", cell.capture_mode]] : []),
      ...(differ(siblings, "repeat") ? [["Repeat", String(cell.repeat)]] : []),
      ...(cell.worker === "main" ? [] : [["Worker", cell.worker]]),
      ...(cell.traffic ? [["Traffic", cell.traffic]] : []),
    ];
    return el("header.detail-head", badge(cell.outcome), cell.slow && el("span.soft.small", "\u2003slow: a step needed a larger time limit"),
      el("h2", { id: "detail-title" }, text(cell.case_id)),
      el("p.by", "on ", modelName(cell.model)),
      el("p.task", { dir: "auto" }, cell.user_task),
      el("p.soft.small.starts", "starts at ", entryLink(cell), cell.case_path && [" · ", text(cell.case_path)]),
      Object.keys(cell.browser_settings || {}).length > 0 && el("p.soft.small.settings", "browser: ", text(browserSettings(cell.browser_settings))),
      handoverButtons(cell, this.run, () => this.attemptInView),
      el("dl.metrics", metrics.map(([name, value]) => el("div", el("dt", name), el("dd", text(value))))),
      siblings.length > 1 && el("div.siblings", { role: "group", "aria-label": "The same case elsewhere" }, siblings.map((other) => this.sibling(other))),
      cell.reason && el("div.reason.is-" + cell.outcome, el("p", el("b", OUTCOMES[cell.outcome].label + ". "), text(reasonOf(cell))), failureNote(cell.failure)),
      (cell.again ?? []).length > 0 && el("p.small.again", "This first result counts. Run again by order: ", cell.again.map((run, at) => this.further(cell, run, at))));
  }

  further(cell, run, at) {
    const words = `${OUTCOMES[run.outcome].label.toLowerCase()}${run.reason ? `: ${run.reason}` : ""}`;
    return [at ? "; " : "", text(words), " ", fileLink(`${cell.folder}/${run.folder}/cell.json`)];
  }

  sibling(other) {
    const { cell } = other;
    const label = `${OUTCOMES[cell.outcome].label}: ${cell.model}, ${cell.capture_mode}, repeat ${cell.repeat}`;
    return el("button.cell.is-" + cell.outcome, { type: "button", title: label, "aria-label": label, "aria-current": String(other.key === this.entry.key), on: { click: () => this.go(other, true) } },
      icon(cell.outcome), text(cell.model + (cell.repeat > 1 ? ` ×${cell.repeat}` : "")));
  }

  noAttempt(cell) {
    return part("No attempt", el("p.soft", cell.outcome === "skipped" ? "This cell was planned but never started." : "This cell left no record of an attempt."), this.files(cell));
  }

  attempts(cell, chosen) {
    const tabs = el("div.tabs", { role: "tablist", "aria-label": "Attempts" });
    const panel = el("div", { role: "tabpanel", id: "attempt", "aria-labelledby": "" });
    const select = (attempt, focus) => {
      this.attemptInView = attempt;
      for (const tab of tabs.children) {
        const own = tab.dataset.attempt === String(attempt.attempt_index);
        tab.setAttribute("aria-selected", String(own));
        tab.setAttribute("tabindex", own ? "0" : "-1");
        if (own) panel.setAttribute("aria-labelledby", tab.id);
        if (own && focus) tab.focus();
      }
      panel.replaceChildren(...this.attempt(cell, attempt));
      if (focus !== undefined) this.go({ ...this.entry, attempt: attempt.attempt_index }, true, true);
    };
    cell.attempts.forEach((attempt, i) => {
      const tone = attempt.checks_passed ? "passed" : attempt.executed && attempt.checks_passed === null ? "ungraded" : "failed";
      const tab = el("button.tab.is-" + tone, { type: "button", role: "tab", id: `tab-${i}`, "aria-controls": "attempt", "data-attempt": attempt.attempt_index },
        icon(tone), attempt.repair_attempt ? `Repair ${i}` : "First attempt");
      tab.addEventListener("click", () => select(attempt, false));
      tab.addEventListener("keydown", ({ key }) => {
        const to = cell.attempts[i + ({ ArrowLeft: -1, ArrowRight: 1 }[key] ?? NaN)];
        if (to) select(to, true);
      });
      tabs.append(tab);
    });
    select(chosen);
    return [tabs, panel];
  }

  attempt(cell, a) {
    const shot = (path, label) => this.shot(cell, path, label);
    const film = picturesPart(a, { shot });
    const checks = a.checks.length > 0 && part(`Checks${earned(cell, a)}`, el("ol.card.checks", a.checks.map((check) => checkItem(check, cell.with_points))));
    return [
      a.failure && !cell.reason.includes(a.failure.message) && failurePart(a),
      a.plan_question && el("p.notice", "The model asked: ", text(a.plan_question), el("br"),
        ...(a.plan_answer ? ["The case answered: ", text(a.plan_answer)] : ["Nobody answered."])),
      (checks || film) && el("div.judged" + (checks && film ? "" : ".alone"), checks, film),
      a.overreach && a.overreach.length > 0 && part("More than asked", el("div.card.more", el("p", "Written beyond what the case's solution writes:"), el("ul", a.overreach.map((one) => el("li", text(one)))))),
      (a.plan_steps.length > 0 || a.step_results.length > 0) && part(["Steps", planNote(a)], this.steps(a, film, shot)),
      decisionsPart(a, this.views(cell)),
      locationsPart(a, this.views(cell)),
      a.code_diff && part("What the repair changed", diffView(a.code_diff)),
      a.code && el("section.part", el("h3", el("span", "Code"), copyButton("Copy", () => a.code)), codeView(a),
        a.code_notes.map((note) => el("p.soft.small", text(note)))),
      a.answered && part("Answer", plain(JSON.stringify(a.answer, null, 2))),
      el("div.folds", this.folds(cell, a)),
    ].filter(Boolean);
  }

  steps(a, film, shot) {
    const results = new Map(a.step_results.map((r) => [r.step_index, r]));
    const plans = new Map(a.plan_steps.map((p) => [p.index, p]));
    const total = Math.max(1, a.step_results.reduce((sum, r) => sum + r.duration_ms, 0));
    let begun = 0;
    return el("ol.card.steps", [...new Set([...plans.keys(), ...results.keys()])].sort((x, y) => x - y).map((index) => {
      const result = results.get(index), from = begun;
      begun += result?.duration_ms ?? 0;
      return this.step(film, index, plans.get(index), result, from / total, begun / total, plans.size > 0, seenInStep(a, index, shot));
    }));
  }

  step(film, index, plan, result, from, to, planned, seen) {
    const status = result?.status ?? "not_run";
    const bar = el("i");
    bar.style.left = `${from * 100}%`;
    bar.style.width = `${(to - from) * 100}%`;
    const where = plan && [plan.target_url !== "CURRENT_PAGE" && plan.target_url, plan.entry_action !== BY_ADDRESS && plan.entry_action, plan.status === "UNKNOWN" && "not final"].filter(Boolean).join(" · ");
    const took = result && result.duration_ms > 0;
    return el("li.is-" + STEP_TONES[status], el("span.no", String(index)),
      el("div", text(result?.description || plan?.description || (planned ? "(not in the plan)" : "")), where && el("div.where", text(where))),
      el("div.timing", el("b", STEP_WORDS[status]), result?.retried && ", continued", took && ` · ${seconds(result.duration_ms / 1000)}`, took && el("div.bar", bar)),
      result && el("div.rest", result.error && el("div.error", { dir: "auto" }, result.error),
        result.context && result.context !== "page" && el("div.where", "in frame ", text(result.context)),
        result.failure?.evidence?.detail && fold("What Playwright tried", "", () => plain(result.failure.evidence.detail), "more"),
        seen,
        result.screenshot && film && el("button.quiet.to-picture", { type: "button", "aria-label": `Show the picture of step ${index}`, on: { click: () => film.showPicture(result.screenshot) } }, "Picture"),
        result.log_tail && fold("Log of this step", "", () => plain(result.log_tail), "more")));
  }

  shot(cell, path, label) {
    if (!path) return null;
    const source = this.picture(cell, path);
    const elsewhere = () => el("p.soft.small", `${label}: screenshot in `, fileLink(`${cell.folder}/${path}`));
    if (!source) return elsewhere();
    const picture = (on) => el("img", { src: source, alt: `${label}, ${cell.case_id} on ${cell.model}`, loading: "lazy", on });
    const button = el("button.shot", { type: "button", "aria-label": `Enlarge: ${label}`, on: { click: () => this.enlarge(label, picture()) } },
      picture({ error: () => button.replaceWith(elsewhere()) }));
    return button;
  }

  /* Return the address of a picture: of what the page holds, or of a file in the cell's folder. */
  picture(cell, path) {
    const { embedded, linked } = this.pictures, whole = `${cell.folder}/${path}`;
    if (embedded[whole]) return embedded[whole];
    return (linked === null || linked.has(whole)) && isInside(whole) ? address(whole) : null;
  }

  enlarge(label, picture) {
    this.zoom.replaceChildren(el("form", { method: "dialog" }, el("span.small.soft", label), el("button.quiet", "Close")), picture);
    this.zoom.showModal();
  }

  /* Return what other parts need to show pictures of a cell. */
  views(cell) {
    return {
      source: (path) => this.picture(cell, path),
      fileLink: (path) => fileLink(`${cell.folder}/${path}`),
      enlarge: (label, picture) => this.enlarge(label, picture),
    };
  }

  folds(cell, a) {
    const logs = [["head", a.run_log_head], ["tail", a.run_log_tail], ["errors", a.formatted_errors.join("\n")]].filter(([, log]) => log);
    return [
      a.plan_text && fold("Plan as written", planWords(a), () => plain(a.plan_text)),
      a.tool_calls.length > 0 && fold("Calls on the page", count(a.tool_calls.length), () => callsTable(a.tool_calls)),
      logs.length > 0 && fold("Run log", "", () => logs.map(([name, log]) => [el("p.label", name), plain(log)])),
      a.scene && fold("Scene of the failure", a.scene.url, () => sceneView(a.scene)),
      a.snapshots.length > 0 && fold("Page as shown to the model", plural(a.snapshots.length, "capture"), () => a.snapshots.map(snapshotView)),
      a.visual_description && fold("Description of the screenshot", "", () => plain(a.visual_description)),
      a.exchanges.length > 0 && fold("Prompts and replies", plural(a.exchanges.length, "call"), () => a.exchanges.map(exchangeView)),
      fold("Time and usage per stage", seconds(a.duration_ms / 1000), () => el("div.scroll-x", stageTable(stagesOf(a)))),
      fold("Files", "", () => this.files(cell)),
    ];
  }

  /* What pytest-playwright recorded; a page from disk cannot open the viewer of traces itself. */
  recordings(cell) {
    if (!cell.recordings.length) return null;
    return part("Recordings", el("p.small", cell.recordings.map(({ file, path, note }, i) => [i > 0 && el("br"),
      path ? fileLink(`${cell.folder}/${path}`) : text(`${file} was ${note}`)])),
      cell.recordings.some(({ file, path }) => path && file.endsWith(".zip"))
        && el("p.soft.small", "Look at a trace with ", el("code", traceCommand(cell, this.run))));
  }

  files(cell) {
    const kept = cell.attempts.flatMap((a) => Object.entries(a.evidence).map(([what, path]) => [`${what} of attempt ${a.attempt_index}`, path]));
    return el("p.small", fileLink(`${cell.folder}/cell.json`), " in the folder ", fileLink(cell.folder),
      kept.map(([what, path]) => [el("br"), `${what}: `, fileLink(`${cell.folder}/${path}`)]),
      cell.nodeid && [el("br"), "pytest id: ", el("code", text(cell.nodeid))]);
  }
}

function browserSettings(settings) {
  const words = (value) => Array.isArray(value) ? value.join(", ")
    : value && typeof value === "object" ? Object.entries(value).map(([name, one]) => `${name} ${one}`).join(", ") : String(value);
  return Object.entries(settings).map(([name, value]) => `${name}: ${words(value)}`).join(" · ");
}

/* A server that the run started on this machine is gone, so its address leads nowhere. */
const OWN_SERVER = /^https?:\/\/(?:127\.\d+\.\d+\.\d+|localhost|\[::1\]):(\d+)/i;
const FIRST_RANDOM_PORT = 32768;

function entryLink({ entry_url: url, attempts }) {
  if (!/^https?:\/\//i.test(url)) return text(url);
  const here = OWN_SERVER.exec(url);
  if (here && (Number(here[1]) >= FIRST_RANDOM_PORT || attempts.some((a) => a.evidence.server)))
    return el("span", { title: url }, text(url.slice(here[0].length) || "/"), " on the web server that the run started");
  return el("a", { href: url, target: "_blank", rel: "noopener noreferrer" }, text(url));
}

/* Return the attempt from which the cell has its outcome: the last one with its failure, else the last one. */
function decidingAttempt({ attempts, failure }) {
  const same = (a) => a.failure?.kind === failure?.kind && a.failure?.message === failure?.message;
  return (failure && attempts.findLast(same)) ?? attempts.at(-1);
}

/* Tell whether cells of the same case differ in a field, so that it tells them apart. */
const differ = (siblings, name) => new Set(siblings.map(({ cell }) => cell[name])).size > 1;

const isInside = (path) => path.split("/").every((piece) => piece && piece !== "..");
const address = (path) => path.split("/").map(encodeURIComponent).join("/");

function fileLink(path) {
  return isInside(path) ? el("a", { href: address(path), target: "_blank", rel: "noopener" }, text(path)) : text(path);
}

/* Only checks decide, so a step may fail in an attempt that passes. */
function failurePart({ failure, checks_passed: passed }) {
  return el("div.reason.is-" + (passed ? "ungraded" : "failed"),
    el("p", passed && el("b", "The checks hold, though not every step ran. "), text(failure.message)), failureNote(failure));
}

function failureNote(failure) {
  if (!failure) return null;
  const facts = [failure.kind !== "check" && failure.kind, failure.cause, failure.rule, failure.step_index && `step ${failure.step_index}`, failure.line && `line ${failure.line}`].filter(Boolean);
  return facts.length > 0 && el("p.small.soft", facts.join(" · "));
}

function planWords(a) {
  if (a.plan_confirmed === null) return "not asked for";
  return a.plan_confirmed ? "" : a.plan_has_question ? "asks a question" : "not final";
}

function planNote(a) {
  if (a.turns) return el("span.small.soft", turnWords(a));
  // That a plan was final is the rule.
  return a.plan_steps.length > 0 && a.plan_confirmed === false && el("span.small.soft", a.plan_has_question ? "the plan asks a question" : "the plan was not final");
}

function turnWords(a) {
  const corrected = a.step_results.filter((result) => result.status === "corrected").length;
  return `${plural(a.turns, "turn")}${corrected ? `, ${plural(corrected, "error")} corrected on the way` : ""}`;
}

/* The share of the points, or of the checks where none carries points. */
function earned(cell, { score, checks }) {
  if (score === null) return "";
  const all = checks.filter((check) => !check.advisory).reduce((sum, check) => sum + check.weight, 0);
  return `: ${percent(score)}${cell.with_points ? ` of ${plural(all, "point")}` : ""}`;
}

function checkItem(check, withPoints) {
  const tone = check.passed === null ? "ungraded" : check.passed ? "passed" : "failed";
  const facts = [
    ["expected", check.expected],
    [check.passed === null ? "not evaluated" : "actual", check.actual, check.passed === false && !check.advisory],
    ["where", check.where],
    ["hint", check.hint],
  ].filter(([name, value]) => value || name === "actual" || name === "expected");
  return el("li.is-" + tone, icon(tone), el("div",
    el("span.kind", `${check.index + 1} ${check.type}`), check.finding && el("span.finding", text(check.finding)), check.message && [" ", text(check.message, ".soft.small")],
    el("span.soft.small.weight", checkWeight(check, withPoints)),
    check.votes.length > 0 && el("ul.small", check.votes.map((vote) => el("li", text(`${vote.judge}: ${vote.verdict}${vote.reason ? `: ${vote.reason}` : ""}`)))),
    el("dl.versus", facts.map(([name, value, bad]) => [el("dt", name), el("dd" + (bad ? ".bad" : ""), { dir: "auto" }, value)]))));
}

function checkWeight(check, withPoints) {
  const judged = check.usage.calls > 0 && [`${plural(check.usage.calls, "model call")}`, check.usage.cost_usd !== null && money(check.usage.cost_usd, check.usage.unpriced_calls === 0)];
  return [check.advisory && "advice only, not part of the verdict", withPoints && plural(check.weight, "point"), check.credit !== null && `credit ${percent(check.credit)}`, ...(judged || [])].filter(Boolean).join(", ");
}

function callsTable(calls) {
  return el("div.scroll-x", el("table.rows.small-table",
    el("thead", el("tr", ["Step", "Call", "Arguments", "Result", "Time"].map((h) => el("th", { scope: "col" }, h)))),
    el("tbody", calls.map((call) => el("tr", el("td", String(call.step_index)),
      el("td.mono", text(`${call.target}.${call.method}`)), el("td.mono", text(call.arguments)),
      el("td", call.ok ? (call.replayed ? "replayed" : "ok") : el("span.error", text(call.error ?? "failed"))), el("td.num", seconds(call.duration_ms / 1000)))))));
}

function sceneView(scene) {
  return [
    el("p.small", "Step ", String(scene.step_index), ", ", text(scene.title || scene.url)),
    scene.console.length > 0 && [el("p.label", "console"), plain(scene.console.join("\n"))],
    scene.failed_requests.length > 0 && [el("p.label", "failed requests"), plain(scene.failed_requests.join("\n"))],
    scene.snapshot && [el("p.label", "page"), plain(scene.snapshot)],
  ];
}

function snapshotView(shot) {
  return [el("p.label", `step ${shot.step_indexes.join(", ")} · ${shot.mode} · about ${tokens(shot.tokens)} tokens${shot.truncated ? ", cut to fit" : ""} · `, text(shot.url)), plain(shot.text)];
}

/* Runs of earlier versions do not say which tokens were cached, or thoughts. */
function inAndOut({ input_tokens, cached_tokens, output_tokens, reasoning_tokens }) {
  const cached = cached_tokens > 0 ? ` (${tokens(cached_tokens)} cached)` : "";
  const thoughts = reasoning_tokens > 0 ? ` (${tokens(reasoning_tokens)} thoughts)` : "";
  return `${tokens(input_tokens)} in${cached}, ${tokens(output_tokens)} out${thoughts}`;
}

function exchangeView(x) {
  const u = x.usage;
  const facts = [x.stage + (x.turn ? ` turn ${x.turn}` : ""), x.model_served, x.fingerprint, inAndOut(u), seconds(u.latency_s), u.replayed_calls > 0 && "replayed", u.cost_usd === null ? "cost unknown" : money(u.cost_usd, u.unpriced_calls === 0)];
  return fold(facts.filter(Boolean).join(" · "), "", () => [
    el("p.label", "prompt"), plain(x.prompt), el("p.label", "reply"), x.error ? el("div.error", { dir: "auto" }, x.error) : plain(x.reply)]);
}

function stagesOf(a) {
  const names = [...new Set([...Object.keys(a.stage_ms), ...Object.keys(a.usage)])];
  return names.map((stage) => {
    const u = a.usage[stage] ?? { calls: 0, input_tokens: 0, output_tokens: 0, cost_usd: null, unpriced_calls: 0 };
    return { stage, seconds: (a.stage_ms[stage] ?? 0) / 1000, calls: u.calls, input_tokens: u.input_tokens, output_tokens: u.output_tokens, cached_tokens: u.cached_tokens, reasoning_tokens: u.reasoning_tokens, cost: { usd: u.cost_usd, complete: u.unpriced_calls === 0 } };
  });
}
