// Makes a marked picture ready for an engine that reads scans: grey and enlarged; see marks.py.
async ([data, zoom, how]) => {
  const DARK = 64;
  const bytes = Uint8Array.from(atob(data), (char) => char.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes]));
  const made = new OffscreenCanvas(image.width * zoom, image.height * zoom);
  const pen = made.getContext('2d');
  pen.imageSmoothingQuality = 'high';
  pen.drawImage(image, 0, 0, made.width, made.height);
  const all = pen.getImageData(0, 0, made.width, made.height);
  for (let i = 0; i < all.data.length; i += 4) {
    const grey = Math.max(all.data[i], all.data[i + 1], all.data[i + 2]);
    all.data.fill(how === 'dark' ? 255 * (grey > DARK) : grey, i, i + 3);
  }
  pen.putImageData(all, 0, 0);
  const blob = await made.convertToBlob({ type: 'image/png' });
  const reader = new FileReader();
  const read = new Promise((done) => {
    reader.onload = done;
  });
  reader.readAsDataURL(blob);
  await read;
  return reader.result.split(',')[1];
}
