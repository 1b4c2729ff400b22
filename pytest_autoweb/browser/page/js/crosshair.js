// Draws lines and numbered boxes on a picture; runs in an empty page of the plugin's own.
async ({ picture, hidden, port, longest, margin, x, y, boxes }) => {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  // Services shrink larger pictures, which would blur lines that were already drawn.
  const shrink = Math.min(1, (longest - 2 * margin) / Math.max(image.width, image.height));
  const width = Math.round(image.width * shrink);
  const height = Math.round(image.height * shrink);
  const scale = width / port.width;
  // The tags of the lines stand in a margin around the page, of which they would hide something.
  const canvas = new OffscreenCanvas(width + 2 * margin, height + 2 * margin);
  const pen = canvas.getContext('2d');
  pen.fillStyle = '#c8c8c8';
  pen.fillRect(0, 0, canvas.width, canvas.height);
  // From here on, 0 is where the page begins.
  pen.translate(margin, margin);
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(image, 0, 0, width, height);

  // Shapes start and end at whole pixels, because antialiasing would mix their colours.
  const place = ([left, top, right, bottom]) => [Math.round((left - port.x) * scale),
    Math.round((top - port.y) * scale), Math.round((right - port.x) * scale),
    Math.round((bottom - port.y) * scale)];
  const fill = (colour, left, top, right, bottom) => {
    pen.fillStyle = colour;
    pen.fillRect(left, top, right - left, bottom - top);
  };
  for (const box of hidden.map(place)) fill('#555555', ...box);

  // Colours that pages hardly ever use. A line is as thin as it can be without getting lost, and its
  // casing shines through, because what lies under both must remain readable.
  const VERTICAL = '#ff00ff';
  const HORIZONTAL = '#00c800';
  const THIN = Math.max(0, Math.round(scale) - 1);
  const CASING = [[THIN + 2, 'rgba(255,255,255,0.45)'], [THIN, null]];
  const FONT = Math.max(15, Math.round(14 * scale));
  const HIGH = FONT + 6;
  const RIM = Math.max(2, Math.round(2 * scale));
  pen.font = `bold ${FONT}px "Liberation Sans", Arial, "DejaVu Sans", sans-serif`;
  pen.letterSpacing = '2px';
  pen.textBaseline = 'middle';
  pen.textAlign = 'center';
  const written = (text, [left, top, right, bottom]) => {
    pen.fillStyle = '#000000';
    pen.fillText(text, (left + right) / 2, (top + bottom) / 2 + 1);
  };
  const within = (value, most) => Math.min(Math.max(value, 0), most);
  const tag = (text, colour, left, top) => {
    const box = [left, top, left + margin, top + margin].map(Math.round);
    fill(colour, ...box);
    written(text, box);
  };
  const vertical = (at) => {
    for (const [half, colour] of CASING) {
      fill(colour || VERTICAL, at - half, 0, at + half + 1, height);
    }
    for (const top of [-margin, height]) tag('V', VERTICAL, at - margin / 2, top);
  };
  const horizontal = (at) => {
    for (const [half, colour] of CASING) {
      fill(colour || HORIZONTAL, 0, at - half, width, at + half + 1);
    }
    for (const left of [-margin, width]) tag('H', HORIZONTAL, left, at - margin / 2);
  };

  // Frames and numbers look like those of marked pictures; see marks_draw.js.
  const COLOURS = ['#d00000', '#0050e0', '#008030', '#9000b0', '#c05000', '#007090'];
  const LABEL = '#ffe900';
  const colourOf = (number) => COLOURS[number % COLOURS.length];
  const drawn = boxes.map(({ number, box }) => ({ number, box: place(box) }));
  for (const { number, box: [left, top, right, bottom] } of drawn) {
    for (const [edge, colour] of [[3, '#ffffff'], [2, colourOf(number)]]) {
      fill(colour, left - edge, top - edge, right + edge, top);
      fill(colour, left - edge, bottom, right + edge, bottom + edge);
      fill(colour, left - edge, top - edge, left, bottom + edge);
      fill(colour, right, top - edge, right + edge, bottom + edge);
    }
  }
  if (x !== null) vertical(Math.round((x - port.x) * scale));
  if (y !== null) horizontal(Math.round((y - port.y) * scale));

  // A number is placed beside its box: at the first of these spots that is free of other numbers
  // and boxes, or else at the spot that covers least.
  const common = (a, b) => Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0]))
    * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
  const numbers = [];
  const AWAY = 4 + RIM;
  for (const { number, box } of drawn) {
    const wide = Math.ceil(pen.measureText(`[${number}]`).width) + 8;
    const [left, top, right, bottom] = box;
    const spots = [
      [left, top - HIGH - AWAY], [right - wide, top - HIGH - AWAY], [left, bottom + AWAY],
      [right - wide, bottom + AWAY], [left - wide - AWAY, top], [right + AWAY, top],
      [left - wide - AWAY, bottom - HIGH], [right + AWAY, bottom - HIGH],
      [right - wide, top], [left, top], [right - wide, bottom - HIGH], [left, bottom - HIGH],
    ].map(([l, t]) => [within(l, width - wide), within(t, height - HIGH)])
      .map(([l, t]) => [l, t, l + wide, t + HIGH].map(Math.round));
    const cost = (spot) => numbers.reduce((sum, other) => sum + 20 * common(spot, other), 0)
      + drawn.reduce((sum, other) => sum + common(spot, other.box), 0);
    let best = spots[0];
    let least = Infinity;
    for (const spot of spots) {
      const price = cost(spot);
      if (price < least) [best, least] = [spot, price];
      if (price === 0) break;
    }
    numbers.push(best);
  }
  const grown = ([left, top, right, bottom], by) => [left - by, top - by, right + by, bottom + by];
  drawn.forEach(({ number }, i) => {
    fill('#ffffff', ...grown(numbers[i], RIM + 1));
    // A rim in the colour of the frame says to which frame the number belongs.
    fill(colourOf(number), ...grown(numbers[i], RIM));
    fill(LABEL, ...numbers[i]);
    written(`[${number}]`, numbers[i]);
  });

  const blob = await canvas.convertToBlob({ type: 'image/png' });
  const out = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (let i = 0; i < out.length; i += 32768) {
    text += String.fromCharCode(...out.subarray(i, i + 32768));
  }
  return btoa(text);
}
