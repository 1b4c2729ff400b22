// Makes a marked picture ready for an engine that reads scans; see marks.py.
async ([data, zoom, how]) => {
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const { width, height } = image;
  const made = new OffscreenCanvas(width * zoom, height * zoom);
  const pen = made.getContext('2d');
  pen.imageSmoothingQuality = 'high';
  pen.fillStyle = '#ffffff';
  pen.fillRect(0, 0, made.width, made.height);

  // The bounding boxes of what has the labels' yellow.
  const labels = () => {
    const plain = new OffscreenCanvas(width, height).getContext('2d');
    plain.drawImage(image, 0, 0);
    const { data: pixels } = plain.getImageData(0, 0, width, height);
    const left = new Uint8Array(width * height);
    for (let i = 0; i < left.length; i += 1) {
      const [red, green, blue] = pixels.subarray(4 * i, 4 * i + 3);
      left[i] = red > 251 && Math.abs(green - 233) < 4 && blue < 8 ? 1 : 0;
    }
    const found = [];
    for (let i = 0; i < left.length; i += 1) {
      if (!left[i]) continue;
      const box = [width, height, 0, 0];
      const todo = [i];
      left[i] = 0;
      while (todo.length) {
        const at = todo.pop();
        const x = at % width;
        const y = (at - x) / width;
        box[0] = Math.min(box[0], x);
        box[1] = Math.min(box[1], y);
        box[2] = Math.max(box[2], x + 1);
        box[3] = Math.max(box[3], y + 1);
        const near = [x > 0 ? at - 1 : -1, x < width - 1 ? at + 1 : -1, at - width, at + width];
        for (const next of near) {
          if (next >= 0 && next < left.length && left[next]) {
            left[next] = 0;
            todo.push(next);
          }
        }
      }
      found.push(box);
    }
    return found.filter((box) => box[2] - box[0] > 6 && box[3] - box[1] > 6);
  };

  for (const [x, y, right, bottom] of how === 'yellow' ? labels() : [[0, 0, width, height]]) {
    const [w, h] = [right - x, bottom - y];
    pen.drawImage(image, x, y, w, h, x * zoom, y * zoom, w * zoom, h * zoom);
  }
  const all = pen.getImageData(0, 0, made.width, made.height);
  for (let i = 0; i < all.data.length; i += 4) {
    all.data.fill(Math.max(...all.data.subarray(i, i + 3)), i, i + 3);
  }
  pen.putImageData(all, 0, 0);
  const blob = await made.convertToBlob({ type: 'image/png' });
  const out = new Uint8Array(await blob.arrayBuffer());
  let text = '';
  for (let i = 0; i < out.length; i += 32768) {
    text += String.fromCharCode(...out.subarray(i, i + 32768));
  }
  return btoa(text);
}
