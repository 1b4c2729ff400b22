/* Building blocks. All text from a page or a model becomes a text node and never markup. */

const SVG = "http://www.w3.org/2000/svg";

const ICONS = {
  passed: "M4 12.5 9.5 18 20 6.5",
  healed: "M20 12a8 8 0 1 1-2.4-5.7M20 3v5h-5",
  failed: "M6 6l12 12M18 6 6 18",
  broken: "M13 2 5 13.5h6L10 22l9-12.5h-6.5z",
  ungraded: "M8.5 9a3.5 3.5 0 1 1 5 3.2c-1 .6-1.5 1.3-1.5 2.3M12 18.6v.2",
  skipped: "M6 12h12",
  needs_input: "M4 5h16v11h-9l-4 4v-4H4z",
  off_record: "M4 18h16M12 5l7 9H5z",
  scales: "M12 4v16M7 20h10M5 7h14M5 7l-3 7h6zM19 7l-3 7h6z",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
};

export const OUTCOMES = {
  passed: { letter: "P", label: "Passed", says: "passed at the first attempt" },
  healed: { letter: "H", label: "Healed", says: "passed only after a repair" },
  failed: { letter: "F", label: "Failed", says: "a step or a check failed" },
  broken: { letter: "B", label: "Broken", says: "browser, network, server or model service failed" },
  ungraded: { letter: "U", label: "Ungraded", says: "no check could be evaluated" },
  skipped: { letter: "S", label: "Skipped", says: "not run" },
  needs_input: { letter: "Q", label: "Needs input", says: "the plan asked a question that nobody may answer" },
  off_record: { letter: "O", label: "Off the record", says: "asked a replayed site for what is not in its recording" },
};

/* Show characters that would reorder or hide the text around them as their code points. */
const UNSEEN = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

export function visible(text) {
  return String(text).replace(UNSEEN, (c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));
}

export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false || child === "") continue;
    node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
  return node;
}

const isProps = (value) =>
  value !== null && typeof value === "object" && !(value instanceof Node) && !Array.isArray(value);

/* Make an element: el("td.num", {title: "…"}, "text", node). Class names follow dots; `on` has listeners. */
export function el(name, ...rest) {
  const [tag, ...classes] = name.split(".");
  const node = document.createElement(tag || "div");
  if (classes.length) node.className = classes.join(" ");
  const props = rest.length && isProps(rest[0]) ? rest.shift() : {};
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [type, act] of Object.entries(value)) node.addEventListener(type, act);
    else if (key === "title") node.title = visible(value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  return append(node, rest);
}

/* Make an SVG element, like `el`: svg("path", {d: "…"}, child). */
export function svg(name, props, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(props)) node.setAttribute(key, value);
  return append(node, children);
}

/* Make a text whose language and direction are unknown. */
export const text = (content, classes = "") => el("span.text" + classes, { dir: "auto" }, content ?? "");

export const icon = (name) =>
  svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, svg("path", { d: ICONS[name] }));

export const badge = (outcome) =>
  el("span.badge.is-" + outcome, { title: OUTCOMES[outcome].says }, icon(outcome), OUTCOMES[outcome].label);

/* Make a <details> whose content is only built when it is first opened, as reports can be large. */
export function fold(title, note, build, classes = "fold") {
  const node = el("details." + classes, el("summary", title, note && el("span.soft.small", note)));
  node.addEventListener("toggle", () => {
    if (node.open && node.children.length === 1) append(node, [el("div.inside", build())]);
  });
  return node;
}

/* Make a button that copies what `content` returns, and says so to the eye and to a screen reader. */
export function copyButton(label, content) {
  const button = el("button.quiet", { type: "button", "aria-live": "polite" }, label);
  let later = 0;
  button.addEventListener("click", async () => {
    const copied = await copy(content(), button);
    button.textContent = copied ? "Copied" : "The browser does not allow copying here";
    clearTimeout(later);
    later = setTimeout(() => (button.textContent = label), 1600);
  });
  return button;
}

/* Copy in the old way where a page from disk may not use the clipboard; tell whether it worked. */
async function copy(content, button) {
  try {
    await navigator.clipboard.writeText(content);
    return true;
  } catch {
    // Beside the button, because nothing outside of an open dialog can be selected.
    const area = el("textarea.copied", { readonly: true, "aria-hidden": "true", tabindex: -1 });
    area.value = content;
    button.after(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.focus();
    return done;
  }
}

/* Make the mark of a cell, which is a button if the cell can be opened from here. */
export function cellMark(outcome, label, open) {
  const { letter, label: word } = OUTCOMES[outcome];
  const says = `${word}: ${label}`;
  const classes = ".cell.mark.is-" + outcome;
  return open
    ? el("button" + classes, { type: "button", title: says, "aria-label": says, on: { click: open } }, icon(outcome), el("b", letter))
    : el("span" + classes, { role: "img", title: says, "aria-label": says }, icon(outcome), el("b", letter));
}

export const plural = (n, one, many = one + "s") => `${count(n)} ${n === 1 ? one : many}`;
export const count = (n) => n.toLocaleString("en-US");

/* Round a share to hundredths. Halves become even, as in the terminal and in summary.md, which say the same. */
function hundredths(share) {
  const exact = share * 100;
  const below = Math.floor(exact);
  return exact - below === 0.5 ? below + Math.abs(below % 2) : Math.round(exact);
}

export const withSign = (whole) => `${whole > 0 ? "+" : whole < 0 ? "−" : ""}${Math.abs(whole)}`;
export const signedHundredths = (share) => withSign(hundredths(share));

export function percent(value) {
  return value === null || value === undefined ? "–" : `${hundredths(value)}%`;
}

/* Tell whether two rates say the same, and so need to stand only once. */
export const sameRate = (a, b) => a.passed_trials === b.passed_trials && a.trials === b.trials;

export function range(interval) {
  return interval ? `${hundredths(interval.low)}–${hundredths(interval.high)}%` : "";
}

export function seconds(s) {
  if (s === null || s === undefined) return "–";
  if (s >= 3600) return `${Math.floor(s / 3600)} h ${Math.round((s % 3600) / 60)} min`;
  if (s >= 90) return `${Math.floor(s / 60)} min ${Math.round(s % 60)} s`;
  if (s >= 10) return `${s.toFixed(0)} s`;
  return s >= 1 || s === 0 ? `${s.toFixed(s ? 1 : 0)} s` : `${Math.round(s * 1000)} ms`;
}

export function tokens(n) {
  if (n >= 1e6) return `${(n / 1e6).toFixed(1)}M`;
  if (n >= 1e4) return `${Math.round(n / 1e3)}k`;
  return n >= 1e3 ? `${(n / 1e3).toFixed(1)}k` : String(n);
}

/* Show an unknown cost as unknown and not as zero. */
export function money(usd, complete) {
  if (usd === null || usd === undefined || (usd === 0 && !complete)) return "unknown";
  const digits = usd === 0 ? 0 : usd < 0.01 ? 5 : usd < 1 ? 3 : 2;
  return `${complete ? "" : "≥ "}$${usd.toFixed(digits)}`;
}

/* Show the provider of a name such as "openai/gpt-5-mini" in a softer tone. */
export function modelName(name) {
  const at = name.lastIndexOf("/");
  return at < 0 ? [text(name)] : [text(name.slice(0, at + 1), ".provider"), text(name.slice(at + 1))];
}

/* Return why a cell has its outcome; one without checks has more to say than that it has none. */
export const reasonOf = (cell) =>
  (cell.without_checks && cell.outcome === "ungraded" ? "Every step ran, which is no proof: the case has no checks" : cell.reason);

/* Return the name of a failure type for readers; the stored one is that of the classification. */
export function failureName(type, kind = "") {
  if (type === "VALIDATION_ERROR") return kind === "claim" ? "check not met" : kind ? "value refused" : "check not met or value refused";
  return type.toLowerCase().replaceAll("_", " ");
}
