/* The page of a run that goes on: it draws one snapshot, and then what the events say has changed. */

import { OUTCOMES, badge, count, el, money, seconds, text } from "./dom.js";
import { CellDialog, pictureAddress } from "./cell.js";
import { Grid, isLoss, stateOf } from "./grid.js";
import { Orders } from "./orders.js";

const MOST_LOSSES = 100;
const NEWS_S = 60;
const byId = (id) => document.getElementById(id);

const run = { phase: "none", counts: {}, going: [], losses: [] };
const cards = new Map();
const orders = new Orders(byId("run-acts"), byId("ordered"), () => byId("cell"));
const grid = new Grid(byId("grid"), (at) => open(at), orders);
const dialog = new CellDialog(byId("cell"), (at) => grid.nameOf(at), (at, cell) => orders.about(grid.nameOf(at), cell));
let connected = false;

byId("key").replaceChildren(...Object.entries(OUTCOMES).flatMap(([, { letter, label }]) => [`${letter} ${label.toLowerCase()}`, " · "]), "› going");
for (const id of ["shown", "search"]) byId(id).addEventListener("input", () => grid.show(byId("shown").value, byId("search").value));

function open(at) {
  history.replaceState(null, "", `#cell=${at}`);
  dialog.open(at, run.epoch);
}

function take(news) {
  const { losses, states, ...rest } = news;
  Object.assign(run, rest);
  if (losses) run.losses = [...run.losses, ...losses].slice(-MOST_LOSSES);
  if (rest.orders) drawOrders();
  drawHead();
  drawGoing();
  if (losses || states) drawLosses();
}

function drawHead() {
  const { counts, phase } = run;
  byId("title").replaceChildren(text(run.run ?? "A run"));
  document.title = counts.all ? `${counts.all - counts.left - counts.going}/${counts.all} · ${run.run}` : "autoweb run view";
  const progress = byId("progress");
  progress.max = counts.all || 1;
  progress.value = (counts.all ?? 0) - (counts.left ?? 0) - (counts.going ?? 0);
  const facts = [
    ["passed", counts.passed, ".is-passed"],
    ["failed", counts.failed, ".is-failed"],
    ["other ends", counts.other],
    ["going", counts.going],
    ["left", counts.left],
    ["cells", counts.all],
  ].map(([name, value, tone = ""]) => fact(name, count(value ?? 0), tone));
  byId("facts").replaceChildren(...facts, fact("cost so far", run.spent_usd ? money(run.spent_usd, true) : "–"),
    fact("time left", phase === "going" && run.left_s ? `about ${roughly(run.left_s)}` : "–"));
  drawPhase();
}

function drawOrders() {
  orders.take(run.orders);
  grid.drawActs();
  dialog.drawActs();
  for (const { drawActs } of cards.values()) drawActs();
}

const roughly = (s) => (s < 120 ? `${s} s` : s < 7200 ? `${Math.round(s / 60)} min` : `${Math.round(s / 3600)} h`);

const fact = (name, value, tone = "") => el("div" + tone, el("dt", name), el("dd", value));

function drawPhase() {
  const place = byId("phase");
  place.className = connected ? `is-${run.phase}` : "is-lost";
  place.replaceChildren(...phaseWords());
}

function phaseWords() {
  if (!connected) return ["The viewer does not answer; what is shown is as it was."];
  if (run.phase === "none") return ["No run is here yet; this page waits for it."];
  if (run.phase === "ended") {
    const link = run.report && el("a", { href: "report/index.html", target: "_blank", rel: "noopener" }, "Open the report");
    return [`The run has ended, with exit status ${run.exit_status}. `, link || ""];
  }
  if (run.phase === "died") return [`The run has died: ${run.death}.`];
  const since = Date.now() / 1000 - run.last_news;
  const quiet = since > NEWS_S ? ` Nothing new for ${seconds(since)}.` : "";
  const { can, paused } = run.orders ?? {};
  if (can && paused) {
    const under = run.counts.going ? `${count(run.counts.going)} under way end as ever` : "no cell is under way";
    return [`Paused by order at ${paused}; ${under}.`];
  }
  return [`The run goes on, for ${seconds(Math.max(0, Date.now() / 1000 - run.began))} so far.${quiet}`];
}

function drawGoing() {
  const place = byId("going");
  byId("going-part").hidden = run.going.length === 0;
  const now = new Set(run.going.map(([at]) => at));
  for (const [at, card] of cards) {
    if (now.has(at)) continue;
    card.node.remove();
    cards.delete(at);
  }
  for (const [at, stage, since, picture] of run.going) {
    if (!cards.has(at)) {
      cards.set(at, goingCard(at));
      place.append(cards.get(at).node);
    }
    cards.get(at).show(stage, since, picture);
  }
  const more = (run.counts.going ?? 0) - run.going.length;
  byId("going-more").hidden = more <= 0;
  byId("going-more").textContent = `and ${count(Math.max(0, more))} more`;
}

function goingCard(at) {
  const { row, column } = grid.nameOf(at);
  const [stageLine, since] = [el("span"), { began: 0, stage: "" }];
  const image = el("img.shot", { alt: "", hidden: true });
  const blank = el("span.shot");
  /* A picture is gone where an attempt's film had no room for it. */
  image.addEventListener("error", () => {
    image.hidden = true;
    blank.hidden = false;
  });
  const words = el("span.words", el("b", { title: row }, text(row)), el("span.soft.small", { title: column }, text(column)), stageLine);
  const button = el("button.open", { type: "button", on: { click: () => open(at) } }, image, blank, words);
  const tick = () => {
    stageLine.replaceChildren(text(since.stage), el("span.soft", ` · ${seconds(Math.max(0, Math.round(Date.now() / 1000 - since.began)))}`));
  };
  const show = (stage, began, picture) => {
    Object.assign(since, { stage, began });
    const address = picture && pictureAddress(run.epoch, at, picture);
    if (picture && image.getAttribute("src") !== address) {
      image.src = address;
      image.hidden = false;
      blank.hidden = true;
    }
    tick();
  };
  const acts = el("div.acts");
  const drawActs = () => acts.replaceChildren(...orders.about(grid.nameOf(at)));
  drawActs();
  return { node: el("li", button, acts), show, tick, drawActs };
}

function drawLosses() {
  const shown = run.losses.filter(([at]) => isLoss(grid.states[at])).reverse();
  byId("no-losses").hidden = shown.length > 0;
  byId("losses").replaceChildren(...shown.map(([at, reason]) => {
    const { row, column } = grid.nameOf(at);
    return el("li", el("button", { type: "button", title: reason, on: { click: () => open(at) } },
      badge(stateOf(grid.states[at]).name), el("span.who", text(row), " ", el("span.soft", text(column))), el("span.why", text(reason))));
  }));
}

const events = new EventSource("events");
events.addEventListener("snapshot", ({ data }) => {
  const { rows, columns, models, unplanned, cells, states, ...rest } = JSON.parse(data);
  connected = true;
  for (const { node } of cards.values()) node.remove();
  cards.clear();
  grid.begin({ rows, columns, models, unplanned, cells, states });
  run.losses = [];
  if (dialog.at !== null && rest.epoch !== run.epoch) dialog.dialog.close();
  take({ ...rest, states });
  const wanted = location.hash.match(/^#cell=(\d{1,9})$/);
  if (wanted && Number(wanted[1]) < cells.length) open(Number(wanted[1]));
});
events.addEventListener("changes", ({ data }) => {
  const news = JSON.parse(data);
  connected = true;
  if (news.states) grid.change(news.states);
  take(news);
  const moved = [...(news.states ?? []), ...(news.going ?? [])].some(([at]) => at === dialog.at);
  if (moved) dialog.refresh();
});
events.addEventListener("open", () => {
  connected = true;
  drawPhase();
});
events.addEventListener("error", () => {
  connected = false;
  drawPhase();
});
setInterval(() => {
  drawPhase();
  for (const { tick } of cards.values()) tick();
}, 1000);
