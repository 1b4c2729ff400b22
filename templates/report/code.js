/* Coloured Python code, lint and failure marks at their lines, and coloured diffs. */

import { el, visible } from "./dom.js";

const KEYWORDS = new Set(
  ("False None True and as assert async await break class continue def del elif else except finally for from " +
    "global if import in is lambda nonlocal not or pass raise return try while with yield match case").split(" "),
);
const TOKEN = new RegExp(
  [
    /(?<comment>#[^\n]*)/,
    /(?<string>[rRbBfFuU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*(?:"|$)|'(?:\\.|[^'\\\n])*(?:'|$)))/,
    /(?<number>\b\d[\w.]*)/,
    /(?<word>[\p{L}_][\p{L}\p{N}_]*)/,
    /(?<space>\s+)/,
    /(?<other>[^\s\p{L}\p{N}_#"']+|.)/,
  ]
    .map((part) => part.source)
    .join("|"),
  "gmu",
);
const STEP_HEADING = /^\s*(?:#|\/\/)?\s*[-*•]?\s*(?:step|步骤)\s*([0-9０-９]+)/iu;

/* Return the code as lines, each a list of [class, text]. */
export function tokenise(code) {
  const lines = [[]];
  for (const match of code.matchAll(TOKEN)) {
    const kind = classOf(match, code);
    match[0].split("\n").forEach((piece, i) => {
      if (i) lines.push([]);
      if (piece) lines[lines.length - 1].push([kind, piece]);
    });
  }
  return lines;
}

function classOf(match, code) {
  const { comment, string, number, word } = match.groups;
  if (comment !== undefined) return STEP_HEADING.test(comment) ? "t-h" : "t-c";
  if (string !== undefined) return "t-s";
  if (number !== undefined) return "t-n";
  if (word === undefined) return "";
  if (KEYWORDS.has(word)) return "t-k";
  return code[match.index + word.length] === "(" ? "t-f" : "";
}

function pieces(kind, content) {
  const shown = visible(content);
  if (shown !== content) return el("span.t-x", content);
  return kind ? el("span." + kind, content) : content;
}

/* Return the number of the step that each line belongs to, 0 before the first heading. */
function stepOfLines(lines) {
  let step = 0;
  const headed = lines.some((line) => STEP_HEADING.test(line));
  return lines.map((line) => {
    const heading = line.match(STEP_HEADING);
    if (heading) step = Number(heading[1].normalize("NFKC"));
    return headed ? step : 1;
  });
}

export function codeView(attempt) {
  const code = attempt.code.replace(/\r\n?/g, "\n").trimEnd();
  const source = code.split("\n");
  const steps = stepOfLines(source);
  const failed = new Set(attempt.step_results.filter((s) => s.status === "failed").map((s) => s.step_index));
  const remarks = remarksByLine(attempt, source.length);
  const rows = el("div.lines");
  tokenise(code).forEach((tokens, i) => {
    const hit = remarks.has(i + 1) ? ".hit" : "";
    const bad = failed.has(steps[i]) ? ".in-failed" : "";
    rows.append(
      el("span.n" + bad, String(i + 1)),
      el("span.l" + hit, tokens.length ? tokens.map(([kind, piece]) => pieces(kind, piece)) : "\u200b"),
    );
    for (const remark of remarks.get(i + 1) ?? []) rows.append(remark);
  });
  return el("div.code", { role: "region", "aria-label": "Code", tabindex: 0 }, rows);
}

function remarksByLine(attempt, last) {
  const remarks = new Map();
  const add = (line, ...nodes) => {
    const at = Math.min(Math.max(line, 1), last);
    remarks.set(at, [...(remarks.get(at) ?? []), ...nodes]);
  };
  for (const finding of attempt.lint_errors) {
    add(finding.line, el("span.says", { dir: "auto" }, `${finding.code}  ${finding.message}`));
    if (finding.hint) add(finding.line, el("span.says.hint", { dir: "auto" }, finding.hint));
  }
  for (const step of attempt.step_results) {
    const failure = step.failure;
    if (failure?.line) add(failure.line, el("span.says", { dir: "auto" }, failure.message));
  }
  return remarks;
}

export function diffView(diff) {
  const rows = el("div.lines");
  for (const line of diff.split("\n")) {
    const kind = /^(@@|\+\+\+ |--- )/.test(line) ? ".at" : line.startsWith("+") ? ".add" : line.startsWith("-") ? ".del" : "";
    rows.append(el("span.l" + kind, line || "\u200b"));
  }
  return el("div.code.diff", { role: "region", "aria-label": "Difference to the previous attempt", tabindex: 0 }, rows);
}
