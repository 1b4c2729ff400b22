// Finds sections of the documentation by words, and shows them with excerpts. What it looks
// through is a script beside it (`sections.js`, which conf.py writes), so it works from disk.
(() => {
  const MOST = 30;
  const EXCERPT = 240;
  // Words of a question that say nothing about its topic.
  const EMPTY = new Set(
    ("a about an and are as at be by can could do does for from get give have how i if in into is it its me my of on " +
      "or our should so that the their them there this to up use want was we what when where which while who why will with " +
      "without would you your").split(" "),
  );

  const stem = (word) => (word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word);
  const wordsOf = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map(stem);

  const countsOf = (words) => {
    const counts = new Map();
    for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
    return counts;
  };

  // A longer word counts if it begins with the one that was typed: "sso" is not in "processor".
  const hits = (counts, word) => {
    let found = counts.get(word) ?? 0;
    if (word.length < 4) return found;
    for (const [other, count] of counts) {
      if (other !== word && other.startsWith(word)) found += count / 2;
    }
    return found;
  };

  const ask = (question) => {
    const typed = wordsOf(question);
    const telling = typed.filter((word) => !EMPTY.has(word));
    return [...new Set(telling.length > 0 ? telling : typed)];
  };

  const search = (question, sections) => {
    const asked = ask(question);
    const found = sections.map((section) => {
      const text = wordsOf(section.text);
      return { section, title: countsOf(wordsOf(section.title)), text: countsOf(text), length: text.length };
    });
    const usual = found.reduce((sum, one) => sum + one.length, 0) / Math.max(found.length, 1);
    for (const one of found) one.points = asked.map((word) => {
      const inText = hits(one.text, word);
      const room = 0.5 + (0.5 * one.length) / usual;
      return 3 * Math.min(hits(one.title, word), 1) + inText / (inText + room);
    });
    const rarity = asked.map((_, place) => {
      const having = found.filter((one) => one.points[place] > 0).length;
      return Math.log(1 + found.length / (1 + having));
    });
    for (const one of found) {
      const matched = one.points.filter((points) => points > 0).length / Math.max(asked.length, 1);
      const sum = one.points.reduce((total, points, place) => total + points * rarity[place], 0);
      one.score = sum * matched ** 2 * one.section.rank;
    }
    return found.filter((one) => one.score > 0).sort((a, b) => b.score - a.score).map((one) => one.section);
  };

  const isAsked = (word, asked) =>
    asked.some((one) => stem(word) === one || (one.length > 3 && word.startsWith(one)));

  const foundIn = (text, asked) =>
    [...text.matchAll(/[\p{L}\p{N}]+/gu)].filter((found) => isAsked(found[0].toLowerCase(), asked));

  // A part of a text, as pieces that are marked or not.
  const marked = (text, asked, start = 0, end = text.length) => {
    const pieces = [];
    let at = start;
    for (const word of foundIn(text, asked)) {
      if (word.index < start || word.index + word[0].length > end) continue;
      const mark = document.createElement("mark");
      mark.textContent = word[0];
      pieces.push(text.slice(at, word.index), mark);
      at = word.index + word[0].length;
    }
    return [...pieces, text.slice(at, end)];
  };

  // The part of a text that holds the most of the words.
  const excerptOf = (text, asked) => {
    const words = foundIn(text, asked);
    let [start, best] = [0, 0];
    for (const first of words) {
      const within = words.filter((word) => word.index >= first.index && word.index < first.index + EXCERPT - 40);
      const distinct = new Set(within.map((word) => stem(word[0].toLowerCase()))).size;
      if (distinct > best) [start, best] = [Math.max(0, first.index - 40), distinct];
    }
    if (start > 0) start = text.indexOf(" ", start) + 1;
    const end = Math.min(text.length, start + EXCERPT);
    return [start > 0 ? "… " : "", ...marked(text, asked, start, end), end < text.length ? " …" : ""];
  };

  const show = (section, asked) => {
    const link = document.createElement("a");
    link.href = `${section.page}.html${section.anchor ? `#${section.anchor}` : ""}`;
    link.append(...marked(section.title, asked));
    const place = document.createElement("span");
    place.className = "search-place";
    place.textContent = section.title === section.of ? "" : ` · ${section.of}`;
    const excerpt = document.createElement("p");
    excerpt.append(...excerptOf(section.text, asked));
    const item = document.createElement("li");
    item.append(link, place, excerpt);
    return item;
  };

  const question = new URLSearchParams(location.search).get("q") ?? "";
  for (const box of document.querySelectorAll("input[name=q]")) box.value = question;
  const found = question.trim() ? search(question, globalThis.SECTIONS) : [];
  const more = found.length > MOST ? `, the first ${MOST} of ${found.length}` : "";
  document.getElementById("search-summary").textContent = found.length > 0
    ? `“${question}”${more}`
    : `${question.trim() ? `Nothing has “${question}”. ` : ""}Type a few words of your question into the box.`;
  document.getElementById("search-results").append(...found.slice(0, MOST).map((section) => show(section, ask(question))));
})();
