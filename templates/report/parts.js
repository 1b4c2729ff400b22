/* The details of a large run's cells. They lie in pages beside this one, which are loaded into frames that nobody
   sees, because a page from disk may not read files. */

import { el } from "./dom.js";

const KEPT = 4;
const PATIENCE_MS = 5000;

export class Parts {
  constructor(key) {
    this.key = key;
    this.frames = new Map();
    this.waiting = new Map();
    this.asked = 0;
    addEventListener("message", ({ source, data }) => {
      if ([...this.frames.values()].some(({ node }) => node.contentWindow === source)) this.answer(data?.asked, data?.text);
    });
    // Where the server's own policy forbids frames, nobody has to wait for what will not come.
    document.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => {
      if (effectiveDirective === "frame-src") for (const asked of this.waiting.keys()) this.answer(asked, "");
    });
  }

  /* Return a promise of the cell with its details; null when they cannot be loaded. */
  load({ part, place }) {
    return new Promise((done) => {
      const asked = ++this.asked;
      this.waiting.set(asked, done);
      this.frame(part).then((frame) => {
        setTimeout(() => this.answer(asked, ""), PATIENCE_MS);
        frame.contentWindow?.postMessage({ key: this.key, place, asked }, "*");
      });
    });
  }

  answer(asked, text) {
    const done = this.waiting.get(asked);
    this.waiting.delete(asked);
    try {
      done?.(JSON.parse(text));
    } catch {
      done(null);
    }
  }

  /* Return a promise of a part's frame; the parts that were used last stay loaded. */
  frame(part) {
    const known = this.frames.get(part);
    this.frames.delete(part);
    const frame = known ?? this.opened(part);
    this.frames.set(part, frame);
    for (const [old, { node }] of [...this.frames].slice(0, -KEPT)) {
      node.remove();
      this.frames.delete(old);
    }
    return frame.ready;
  }

  opened(part) {
    const node = el("iframe", { src: `details/${part}.html`, hidden: true, title: "Details of cells" });
    const ready = new Promise((done) => node.addEventListener("load", () => done(node), { once: true }));
    document.body.append(node);
    return { node, ready };
  }
}
