// Draws lines and numbered boxes on a picture; runs in an empty page of the plugin's own.
async ({ picture, hidden, port, longest, x, y, boxes }) => {
  const bytes = Uint8Array.from(atob(picture), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  // Services shrink larger pictures, which would blur lines that were already drawn.
  const shrink = Math.min(1, longest / Math.max(image.width, image.height));
  const width = Math.round(image.width * shrink);
  const height = Math.round(image.height * shrink);
  const scale = width / port.width;
  const canvas = new OffscreenCanvas(width, height);
  const pen = canvas.getContext('2d');
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

  // Colours that pages hardly ever use, in lines of three pixels whose rims let text shine through;
  // the picture is not shrunk any more after they were drawn.
  const VERTICAL = '#ff00ff';
  const HORIZONTAL = '#00c800';
  const CASING = [[1, 'rgba(255,255,255,0.6)'], [0, null]];
  const FONT = Math.max(15, Math.round(14 * scale));
  const HIGH = FONT + 6;
  pen.font = `bold ${FONT}px "DejaVu Sans", Verdana, Arial, sans-serif`;
  pen.textBaseline = 'middle';
  pen.textAlign = 'center';
  const label = (text, colour, ink, [left, top, right, bottom]) => {
    fill('#ffffff', left - 1, top - 1, right + 1, bottom + 1);
    fill(colour, left, top, right, bottom);
    pen.fillStyle = ink;
    pen.fillText(text, (left + right) / 2, (top + bottom) / 2 + 1);
  };
  const within = (value, most) => Math.min(Math.max(value, 0), most);
  const vertical = (at) => {
    for (const [half, colour] of CASING) {
      fill(colour || VERTICAL, at - half, 0, at + half + 1, height);
    }
    const left = within(at - HIGH / 2, width - HIGH);
    for (const top of [0, height - HIGH]) {
      label('V', VERTICAL, '#000000', [left, top, left + HIGH, top + HIGH].map(Math.round));
    }
  };
  const horizontal = (at) => {
    for (const [half, colour] of CASING) {
      fill(colour || HORIZONTAL, 0, at - half, width, at + half + 1);
    }
    const top = within(at - HIGH / 2, height - HIGH);
    for (const left of [0, width - HIGH]) {
      label('H', HORIZONTAL, '#000000', [left, top, left + HIGH, top + HIGH].map(Math.round));
    }
  };

  const COLOURS = ['#b00020', '#0033a0', '#005c2e', '#6a0dad', '#7a3b00', '#004d5c'];
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
  for (const { number, box } of drawn) {
    const wide = Math.ceil(pen.measureText(String(number)).width) + 8;
    const [left, top, right, bottom] = box;
    const spots = [
      [left, top - HIGH - 4], [right - wide, top - HIGH - 4], [left, bottom + 4],
      [right - wide, bottom + 4], [left - wide - 4, top], [right + 4, top],
      [left - wide - 4, bottom - HIGH], [right + 4, bottom - HIGH],
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
  drawn.forEach(({ number }, i) => label(String(number), colourOf(number), '#ffffff', numbers[i]));

  const blob = await canvas.convertToBlob({ type: 'image/png' });
  const out = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (let i = 0; i < out.length; i += 32768) {
    text += String.fromCharCode(...out.subarray(i, i + 32768));
  }
  return btoa(text);
}
