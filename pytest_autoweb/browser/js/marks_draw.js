// Runs in an empty page of our own: draws frames and numbers over a picture, finding a free place
// for each number. Returns the new picture and where the numbers stand, in its pixels.
async ({ picture, hidden, marks, port, page }) => {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const scale = image.width / port.width;
  const canvas = new OffscreenCanvas(image.width, image.height);
  const pen = canvas.getContext('2d');
  pen.drawImage(image, 0, 0);
  const toPicture = ([left, top, right, bottom]) => [(left - port.x) * scale,
    (top - port.y) * scale, (right - port.x) * scale, (bottom - port.y) * scale];
  pen.fillStyle = '#555';
  for (const box of hidden.map(toPicture)) {
    pen.fillRect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
  }
  const COLOURS = ['#d00000', '#0050e0', '#008030', '#9000b0', '#c05000', '#007090'];
  const FAILED = '#666666';
  const FONT = 15 * scale;
  const GAP = 3 * scale;
  const HIGH = FONT * 1.2;
  pen.font = `bold ${FONT}px "DejaVu Sans", Verdana, Arial, sans-serif`;
  pen.textBaseline = 'middle';
  pen.textAlign = 'center';

  const meets = (a, b) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  const common = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]))
    * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const grown = (r, by) => [r[0] - by, r[1] - by, r[2] + by, r[3] + by];
  const items = marks.map((mark) => ({
    ...mark, box: toPicture(mark.box), rects: mark.rects.map(toPicture),
    read: mark.read.map(toPicture),
  }));
  const allRead = items.flatMap((item) => item.read).concat(page.map(toPicture));
  const allRects = items.flatMap((item) => item.rects);

  const placed = [];
  const around = (item, w, h, ring) => {
    const [left, top, right, bottom] = item.box;
    const g = GAP * (1 + ring * 3);
    const spots = [
      [left, top - h - g], [right - w, top - h - g], [left - w - g, top], [right + g, top],
      [left - w - g, (top + bottom - h) / 2], [right + g, (top + bottom - h) / 2],
      [left, bottom + g], [right - w, bottom + g], [(left + right - w) / 2, top - h - g],
      [(left + right - w) / 2, bottom + g], [left - w - g, top - h - g], [right + g, top - h - g],
      [left - w - g, bottom + g], [right + g, bottom + g],
    ];
    if (ring === 0) {
      spots.push([right - w - 2, top + 2], [left + 2, top + 2], [right - w - 2, bottom - h - 2],
        [left + 2, bottom - h - 2]);
    }
    return spots.map(([x, y]) => [x, y, x + w, y + h]);
  };
  const inPicture = (r) => r[0] >= 0 && r[1] >= 0 && r[2] <= image.width && r[3] <= image.height;
  const allowed = (item, r) => {
    const wide = grown(r, GAP / 2);
    return inPicture(r) && !placed.some((other) => meets(wide, other))
      && !item.read.some((box) => meets(wide, box));
  };
  const cost = (item, r, ring) => {
    const wide = grown(r, GAP);
    let sum = ring * 20;
    for (const box of allRead) sum += common(wide, box);
    for (const box of allRects) sum += 0.3 * common(wide, box);
    return sum;
  };
  const place = (item, w, h) => {
    let best = null;
    let least = Infinity;
    for (let ring = 0; ring < 14; ring += 1) {
      for (const r of around(item, w, h, ring)) {
        if (!allowed(item, r)) continue;
        const price = cost(item, r, ring);
        if (price < least) {
          least = price;
          best = r;
        }
      }
      if (best && least < (ring + 1) * 20 + 1) break;
    }
    return best || anywhere(item, w, h);
  };
  const anywhere = (item, w, h) => {
    let best = null;
    let least = Infinity;
    for (let y = 0; y + h <= image.height; y += h / 2) {
      for (let x = 0; x + w <= image.width; x += w / 2) {
        const r = [x, y, x + w, y + h];
        const far = Math.hypot(x - item.box[0], y - item.box[1]);
        if (far < least && allowed(item, r)) {
          least = far;
          best = r;
        }
      }
    }
    return best;
  };

  const outline = (item, colour) => {
    pen.setLineDash(item.failed ? [5 * scale, 4 * scale] : []);
    for (const [width, style] of [[4 * scale, 'rgba(255,255,255,0.8)'], [2 * scale, colour]]) {
      pen.lineWidth = width;
      pen.strokeStyle = style;
      for (const r of item.rects) pen.strokeRect(r[0], r[1], r[2] - r[0], r[3] - r[1]);
    }
    pen.setLineDash([]);
  };
  const labels = [];
  const colourOf = (item) => (item.failed ? FAILED : COLOURS[item.number % COLOURS.length]);
  for (const item of items) outline(item, colourOf(item));
  for (const item of items) {
    const w = pen.measureText(String(item.number)).width + FONT * 0.6;
    const r = place(item, w, HIGH);
    labels.push(r);
    if (r) placed.push(r);
  }
  items.forEach((item, i) => {
    const r = labels[i];
    if (!r) return;
    const beside = meets(grown(r, GAP * 2), item.box);
    if (beside) return;
    const near = [Math.min(Math.max((r[0] + r[2]) / 2, item.box[0]), item.box[2]),
      Math.min(Math.max((r[1] + r[3]) / 2, item.box[1]), item.box[3])];
    pen.lineWidth = 1.5 * scale;
    pen.strokeStyle = colourOf(item);
    pen.beginPath();
    pen.moveTo((r[0] + r[2]) / 2, (r[1] + r[3]) / 2);
    pen.lineTo(...near);
    pen.stroke();
  });
  items.forEach((item, i) => {
    const r = labels[i];
    if (!r) return;
    pen.fillStyle = item.failed ? '#dddddd' : '#ffe900';
    pen.fillRect(r[0], r[1], r[2] - r[0], r[3] - r[1]);
    pen.fillStyle = '#000000';
    pen.fillText(String(item.number), (r[0] + r[2]) / 2, (r[1] + r[3]) / 2 + FONT * 0.05);
  });
  const blob = await canvas.convertToBlob({ type: 'image/png' });
  const out = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (let i = 0; i < out.length; i += 32768) {
    text += String.fromCharCode(...out.subarray(i, i + 32768));
  }
  return { picture: btoa(text), labels, scale };
}
