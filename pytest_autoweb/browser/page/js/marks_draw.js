// Draws frames and numbers on a picture, finding a free place for each number; runs in an empty page
// of the plugin's own. Returns the new picture and the positions of the numbers in its pixels.
async ({ image: decoded }, order) => {
  const { hidden, marks, page, port } = JSON.parse(order);
  const COLOURS = ['#d00000', '#0050e0', '#008030', '#9000b0', '#c05000', '#007090'];
  const FAILED = '#777777';
  const LABEL = '#ffe900';
  const FAILED_LABEL = '#dddddd';
  const RINGS = 14;
  const CROWD = 2;
  const TRIES = 150;

  const image = await decoded;
  const { width, height } = image;
  const scale = width / port.width;
  const font = 15 * scale;
  const high = font * 1.4;
  // Numbers of a thicket are smaller, so that each has room at its own element.
  const smallFont = 11 * scale;
  const smallHigh = smallFont * 1.25;
  const FEW = 3;
  const gap = 5 * scale;
  const cell = 2 * scale;
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext('2d', { alpha: false, willReadFrequently: true });
  pen.drawImage(image, 0, 0);
  image.close();

  // Rectangles are [left, top, right, bottom].
  const toPicture = ([left, top, right, bottom]) => [(left - port.x) * scale,
    (top - port.y) * scale, (right - port.x) * scale, (bottom - port.y) * scale];
  const meets = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const grown = (r, by) => [r[0] - by, r[1] - by, r[2] + by, r[3] + by];
  const fill = (r, colour) => {
    pen.fillStyle = colour;
    pen.fillRect(r[0], r[1], r[2] - r[0], r[3] - r[1]);
  };
  const middle = (r) => [(r[0] + r[2]) / 2, (r[1] + r[3]) / 2];
  // Between lines there is room that a text's box holds, but no letter of it.
  const inked = ([left, top, right, bottom]) => {
    const rim = Math.min(0.14 * (bottom - top), 4 * scale);
    return [left, top + rim, right, bottom - rim];
  };
  const items = marks.map((mark) => ({
    ...mark,
    box: toPicture(mark.box),
    rects: mark.rects.map(toPicture),
    read: mark.read.map(toPicture).map(inked),
    pictures: mark.pictures.map(toPicture),
    offers: [],
    colour: mark.failed ? FAILED : COLOURS[mark.number % COLOURS.length],
  }));

  // A summed-area table: tells in constant time how much of a rectangle the given ones cover.
  const coverage = (rects) => {
    const columns = Math.ceil(width / cell) + 1;
    const rows = Math.ceil(height / cell) + 1;
    const clamp = (value, most) => Math.min(Math.max(value, 0), most);
    const cells = ([left, top, right, bottom]) => [
      clamp(Math.round(left / cell), columns - 1), clamp(Math.round(top / cell), rows - 1),
      clamp(Math.round(right / cell), columns - 1), clamp(Math.round(bottom / cell), rows - 1)];
    const covered = new Uint8Array(columns * rows);
    for (const rect of rects) {
      const [left, top, right, bottom] = cells(rect);
      for (let y = top; y < bottom; y += 1) covered.fill(1, y * columns + left, y * columns + right);
    }
    const sums = new Uint32Array((columns + 1) * (rows + 1));
    const at = (x, y) => sums[y * (columns + 1) + x];
    for (let y = 0, from = 0, to = columns + 2; y < rows; y += 1, to += 1) {
      for (let x = 0, row = 0; x < columns; x += 1, from += 1, to += 1) {
        row += covered[from];
        sums[to] = row + sums[to - columns - 1];
      }
    }
    return (rect) => {
      const [left, top, right, bottom] = cells(rect);
      return cell * cell * (at(right, bottom) - at(left, bottom) - at(right, top) + at(left, top));
    };
  };

  const readable = items.flatMap((item) => item.read).concat(page.map(toPicture).map(inked));
  const textIn = coverage(readable);
  const marksIn = coverage(items.flatMap((item) => item.rects.map((r) => grown(r, 2 * scale))));
  const size = (r) => Math.max(0, r[2] - r[0]) * Math.max(0, r[3] - r[1]);
  const common = (a, b) => size([Math.max(a[0], b[0]), Math.max(a[1], b[1]),
    Math.min(a[2], b[2]), Math.min(a[3], b[3])]);
  const picturesIn = (item, r) => item.pictures.reduce(
    (most, picture) => Math.max(most, common(r, picture) / size(picture)), 0);
  // How much of a spot and of what is close to it belongs to other elements than its own.
  const foreign = (item, r, rim) => {
    const around = grown(r, rim * scale);
    const own = item.rects.reduce((sum, rect) => sum + common(around, grown(rect, 2 * scale)), 0);
    return Math.max(0, marksIn(around) - own) / size(around);
  };
  const labels = items.map(() => null);
  const inPicture = (r) => r[0] >= 0 && r[1] >= 0 && r[2] <= width && r[3] <= height;
  const clear = (item, r, rim = 2) => {
    const around = grown(r, rim * scale);
    return inPicture(r) && !item.read.some((box) => meets(around, box));
  };
  // A crowded page asks a hundred thousand times whether a spot is free, so the picture is divided
  // into squares that know the numbers reaching into them, and a spot is compared with those only.
  const square = 2 * high;
  const columns = Math.ceil(width / square);
  const squares = Array.from({ length: columns * Math.ceil(height / square) }, () => []);
  const reached = ([left, top, right, bottom], visit, index = squares) => {
    const lastColumn = Math.min(Math.floor(right / square), columns - 1);
    const lastRow = Math.min(Math.floor(bottom / square), squares.length / columns - 1);
    for (let y = Math.max(Math.floor(top / square), 0); y <= lastRow; y += 1) {
      for (let x = Math.max(Math.floor(left / square), 0); x <= lastColumn; x += 1) {
        if (visit(index[y * columns + x])) return true;
      }
    }
    return false;
  };
  const texts = Array.from({ length: squares.length }, () => []);
  for (const text of readable) {
    reached(text, (found) => {
      found.push(text);
    }, texts);
  }
  // The share of a number's spot that covers text, or of a short text that the number would hide.
  const hides = (box) => {
    let most = textIn(box) / size(box);
    if (most === 0) return 0;
    reached(box, (found) => {
      for (const text of found) if (meets(box, text)) most = Math.max(most, common(box, text) / size(text));
    }, texts);
    return most;
  };
  const place = (i, label) => {
    if (labels[i]) {
      reached(labels[i].box, (numbers) => {
        numbers.splice(numbers.indexOf(i), 1);
      });
    }
    labels[i] = label;
    if (label) {
      reached(label.box, (numbers) => {
        numbers.push(i);
      });
    }
  };
  const inTheWay = (r) => {
    const around = grown(r, 2 * scale);
    const found = new Set();
    reached(around, (numbers) => {
      for (const i of numbers) if (meets(around, labels[i].box)) found.add(i);
    });
    return [...found].sort((a, b) => a - b);
  };
  const free = (r) => {
    const around = grown(r, 2 * scale);
    return !reached(around, (numbers) => numbers.some((i) => meets(around, labels[i].box)));
  };
  // Possible spots are beside the box, at its corners and within it, at a greater distance in each
  // ring. The cost of a spot depends on its distance, its side and what it covers of the page.
  const spots = (item, ring) => {
    const [[left, top, right, bottom], w, h] = [item.box, item.width, item.height];
    const g = (item.small ? 3 * scale : gap) + ring * 0.75 * high;
    const across = (share) => left + (right - left - w) * share;
    const down = (share) => top + (bottom - top - h) * share;
    const [above, below, before, behind] = [top - h - g, bottom + g, left - w - g, right + g];
    // A small number sits across the frame, so that what the frame holds stays readable.
    const inset = item.small ? (item.pictures.length ? -2 : -4) * scale : 2 * scale;
    const beside = [
      [left, above], [before, down(0.5)], [behind, down(0.5)], [across(1), above], [left, below],
      [across(1), below], [across(0.5), above], [across(0.5), below], [before, top], [behind, top],
      ...[0.25, 0.75].flatMap((share) => [[before, down(share)], [behind, down(share)],
        [across(share), above], [across(share), below]]),
    ];
    const corners = [[before, above], [behind, above], [before, below], [behind, below]];
    // A wide row has free places between its texts.
    const wide = right - left > 6 * w ? [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1] : [];
    const inCorner = [[right - w - inset, top + inset], [left + inset, top + inset],
      [right - w - inset, bottom - h - inset], [left + inset, bottom - h - inset]];
    // Where the numbers of a thicket sit in the same corner, none is in the way of the next.
    if (item.small) {
      // Beside a short text in the middle there is little room: the number reaches further out.
      const begins = Math.min(right, ...item.read.map((text) => text[0]));
      inCorner[1][0] = Math.max(left - w / 2, Math.min(left + inset, begins - w));
      inCorner.unshift(inCorner.splice(1, 1)[0]);
    }
    const within = ring ? [] : [...inCorner, ...wide.map((share) => [across(share), down(0.5)])];
    // At a corner it is hard to see to which box a number belongs.
    const odd = [...beside.map(() => 0), ...corners.map(() => 0.5),
      ...within.map((spot, i) => (item.small && i > 0 && i < 4 ? 0.6 : 0))];
    const far = item.small ? 3 * ring : ring;
    const outside = beside.length + corners.length;
    return [...beside, ...corners, ...within].flatMap(([x, y], turn) => {
      const box = [x, y, x + w, y + h];
      if (!clear(item, box, item.small ? 0 : 2)) return [];
      const near = turn < outside ? 5 * foreign(item, box, 4) : 2 * foreign(item, box, 0);
      const covered = 14 * hides(box) + near + 3 * picturesIn(item, box);
      return [{ box, costs: far + odd[turn] + turn * 0.01 + covered }];
    });
  };
  // The spots that leave the item's own text free, the cheapest of each ring first. They do not
  // depend on the positions of other numbers and are therefore cached.
  const offers = (item, ring) => {
    item.offers[ring] ||= spots(item, ring).sort((a, b) => a.costs - b.costs);
    return item.offers[ring];
  };
  const anywhere = (item) => {
    let best = null;
    for (let y = 0; y + high <= height; y += high / 2) {
      for (let x = 0; x + item.width <= width; x += item.width / 2) {
        const box = [x, y, x + item.width, y + item.height];
        const costs = RINGS + Math.hypot(x - item.box[0], y - item.box[1]) / high
          + (14 * textIn(box)) / (item.width * item.height);
        if ((!best || costs < best.costs) && clear(item, box) && free(box)) {
          best = { box, costs };
        }
      }
    }
    return best;
  };
  const put = (i) => {
    let best = null;
    for (let ring = 0; ring < RINGS && (!best || ring < best.costs); ring += 1) {
      const first = offers(items[i], ring).find(({ box }) => free(box));
      if (first && (!best || first.costs < best.costs)) best = first;
    }
    place(i, best || anywhere(items[i]));
  };
  const spent = (some) => some.reduce(
    (sum, i) => sum + (labels[i] ? labels[i].costs : 10 * RINGS), 0);
  let tries = TRIES;
  // A badly placed number takes a better spot if the numbers there can find other spots.
  const improve = (i) => {
    const now = spent([i]);
    for (const offer of offers(items[i], 0)) {
      if (offer.costs > now - 0.3) return;
      const others = inTheWay(offer.box).filter((other) => other !== i);
      if (others.length > CROWD) continue;
      if (!tries) return;
      tries -= 1;
      const moved = [i, ...others];
      const before = moved.map((other) => labels[other]);
      const cost = spent(moved);
      for (const other of moved) place(other, null);
      place(i, offer);
      others.forEach(put);
      if (spent(moved) < cost - 0.1) return;
      moved.forEach((other, k) => place(other, before[k]));
    }
  };

  const outline = (item) => {
    pen.setLineDash(item.failed || item.waits ? [5 * scale, 4 * scale] : []);
    for (const [thick, colour] of [[4, 'rgba(255,255,255,0.85)'], [2, item.colour]]) {
      pen.lineWidth = thick * scale;
      pen.strokeStyle = colour;
      // The frame is drawn outside the element, so that the element's text stays readable.
      for (const rect of item.rects) {
        const r = grown(rect, 2 * scale);
        pen.strokeRect(r[0], r[1], r[2] - r[0], r[3] - r[1]);
      }
    }
    pen.setLineDash([]);
  };
  const line = (points, colour, thick) => {
    pen.strokeStyle = colour;
    pen.lineWidth = thick * scale;
    pen.beginPath();
    pen.moveTo(...points[0]);
    pen.lineTo(...points[1]);
    pen.stroke();
  };
  const leader = (item, label) => {
    if (meets(grown(label, 2 * gap), item.box)) return;
    const [x, y] = middle(label);
    const end = [Math.min(Math.max(x, item.box[0]), item.box[2]),
      Math.min(Math.max(y, item.box[1]), item.box[3])];
    line([[x, y], end], 'rgba(255,255,255,0.85)', 3);
    line([[x, y], end], item.colour, 1.5);
  };
  const shown = (item) => (item.small ? `${item.number}` : `[${item.number}]`);
  const fontOf = (item) => `bold ${item.small ? smallFont : font}px "Liberation Sans", Arial, `
    + '"DejaVu Sans", sans-serif';
  const number = (item, r) => {
    // A rim in the colour of the frame says to which frame the number belongs.
    const rim = item.small ? 1 : 2;
    if (!item.small) fill(grown(r, 3 * scale), '#ffffff');
    fill(grown(r, rim * scale), item.colour);
    fill(r, item.failed ? FAILED_LABEL : LABEL);
    const cross = item.failed ? item.height * 0.8 : 0;
    pen.font = fontOf(item);
    pen.fillStyle = '#000000';
    pen.fillText(shown(item), (r[0] + r[2] - cross) / 2, (r[1] + r[3]) / 2 + font * 0.05);
    if (!item.failed) return;
    const edge = item.height * 0.25;
    const c = [r[2] - cross, r[1] + edge, r[2] - edge, r[3] - edge];
    line([[c[0], c[1]], [c[2], c[3]]], '#c00000', 2);
    line([[c[0], c[3]], [c[2], c[1]]], '#c00000', 2);
  };

  for (const box of hidden.map(toPicture)) fill(box, '#555555');
  pen.textBaseline = 'middle';
  pen.textAlign = 'center';
  for (const item of items) outline(item);
  const measure = (item, small) => {
    item.small = small;
    pen.font = fontOf(item);
    item.height = small ? smallHigh : high;
    item.width = pen.measureText(shown(item)).width + (small ? 4 * scale : font * 0.9)
      + (item.failed ? item.height * 0.8 : 0);
    item.offers = [];
  };
  for (const item of items) measure(item, false);
  // Where large numbers have no room beside their elements, all around are small.
  const tight = new Set(items.filter(
    (item) => offers(item, 0).filter(({ costs }) => costs < 0.5).length < FEW));
  const alike = (a, b) => meets(grown(a.box, 2 * high), b.box)
    && Math.max(size(a.box), size(b.box)) < 4 * Math.min(size(a.box), size(b.box));
  for (let round = 0, grew = true; grew && round < 30; round += 1) {
    const more = items.filter((item) => !tight.has(item)
      && [...tight].filter((other) => alike(item, other)).length >= 2);
    for (const item of more) tight.add(item);
    grew = more.length > 0;
  }
  for (const item of tight) measure(item, true);
  // Items with the fewest free spots choose first.
  const choice = items.map((item) => offers(item, 0).filter(({ costs }) => costs < 0.5).length);
  const turns = items.map((item, i) => i).sort((a, b) => choice[a] - choice[b] || a - b);
  turns.forEach(put);
  for (let round = 0; round < 2; round += 1) turns.forEach(improve);
  const drawn = items.map((item, i) => [item, labels[i]]).filter(([, label]) => label);
  for (const [item, label] of drawn) leader(item, label.box);
  for (const [item, label] of drawn) number(item, label.box);

  const blob = await canvas.convertToBlob({ type: 'image/png' });
  const reader = new FileReader();
  const read = new Promise((done) => {
    reader.addEventListener('load', done);
  });
  reader.readAsDataURL(blob);
  await read;
  const boxes = labels.map((label) => label && label.box);
  return { picture: reader.result.split(',')[1], labels: boxes, scale };
}
