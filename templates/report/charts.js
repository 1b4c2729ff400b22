/* Charts drawn as SVG: scales, axes, whiskers, and labels that do not cover each other. */

import { el, svg, visible } from "./dom.js";

/* Draw into a box of any width, and again when the width changes. */
export function drawn(label, draw) {
  const box = el("div.picture");
  let last = 0;
  const paint = () => {
    const width = Math.floor(box.clientWidth);
    if (!width || width === last) return;
    last = width;
    box.replaceChildren(draw(width, label));
  };
  new ResizeObserver(paint).observe(box);
  return box;
}

export function picture(width, height, label, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": visible(label) }, ...children);
}

export const line = (x1, y1, x2, y2, classes) => svg("line", { x1, y1, x2, y2, class: classes });

export function words(x, y, content, classes = "", anchor = "start") {
  return svg("text", { x, y, class: "words " + classes, "text-anchor": anchor }, content);
}

/* Draw an interval as a bar with caps; `at` is its position on the other axis. */
export function whisker(at, from, to, classes = "whisker") {
  return svg("path", { class: classes, d: `M${at - 4} ${from}H${at + 4}M${at} ${from}V${to}M${at - 4} ${to}H${at + 4}` });
}

const pen = document.createElement("canvas").getContext("2d");
export function textWidth(content, size = 12) {
  pen.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return pen.measureText(content).width;
}

/* Cut in the middle, because models differ in the vendor at the start and the size at the end. */
export function fitted(content, width, size = 12) {
  const name = visible(content);
  if (textWidth(name, size) <= width) return name;
  for (let keep = name.length - 1; keep > 2; keep--) {
    const cut = `${name.slice(0, Math.ceil(keep / 2))}…${name.slice(name.length - Math.floor(keep / 2))}`;
    if (textWidth(cut, size) <= width) return cut;
  }
  return "…";
}

/* Map values from low to high to pixels from a to b, logarithmically if they span most of a decade. */
export function scale(values, a, b) {
  const low = Math.min(...values), high = Math.max(...values);
  const log = low > 0 && high / low >= 6;
  const from = log ? low / 1.4 : 0, to = (log ? 1.4 : low === high ? 2 : 1.12) * high || 1;
  const place = log
    ? (v) => a + ((b - a) * Math.log(v / from)) / Math.log(to / from)
    : (v) => a + ((b - a) * v) / to;
  return { place, log, ticks: log ? logTicks(from, to) : linearTicks(to) };
}

function logTicks(from, to) {
  const wide = Math.log10(to / from) > 2.2;
  const ticks = [];
  for (let power = Math.floor(Math.log10(from)); power <= Math.ceil(Math.log10(to)); power++) {
    for (const digit of wide ? [1] : [1, 2, 5]) {
      const tick = Number(`${digit}e${power}`);
      if (tick >= from && tick <= to) ticks.push(tick);
    }
  }
  return ticks;
}

function linearTicks(to) {
  const rough = to / 4, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((f) => f * power).find((s) => s >= rough);
  return Array.from({ length: Math.floor(to / step) + 1 }, (_, i) => i * step);
}

const overlap = (a, b) => a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;

/* Give each point a place for its label where it covers no other label or point, and no obstacle if
   there is room. A label without such a place is left out, as the table below names every point. */
export function placeLabels(points, area, obstacles, size = 12) {
  const taken = points.map((p) => ({ x: p.x - 7, y: p.y - 7, w: 14, h: 14 }));
  return points.map((point) => {
    const box = findPlace(point, area, size, taken, obstacles);
    if (box) taken.push(box);
    return box && { ...box, point };
  }).filter(Boolean);
}

/* A label across an obstacle is better than a shortened one. */
function findPlace(point, area, size, taken, obstacles) {
  for (const share of [0.5, 0.34, 0.22]) {
    const content = fitted(point.label, Math.max(60, area.w * share), size);
    const w = textWidth(content, size) + 4;
    for (const covered of [[...taken, ...obstacles], taken]) {
      for (const box of candidates(point, w, size + 3, area)) {
        if (!covered.some((other) => overlap(box, other))) return { ...box, content };
      }
    }
  }
  return null;
}

function* candidates({ x, y }, w, h, area) {
  for (let shift = 0; shift <= area.h; shift += 4) {
    for (const dy of shift ? [-shift, shift] : [0]) {
      for (const left of [x + 10, x - 10 - w]) {
        const box = { x: left, y: y - h / 2 + dy, w, h };
        const inside = left >= area.x && left + w <= area.x + area.w && box.y >= area.y && box.y + h <= area.y + area.h;
        if (inside) yield box;
      }
    }
  }
}
