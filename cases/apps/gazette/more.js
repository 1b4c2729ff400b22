// Adds entries to the end of a list, from the data of the same name.
export async function addMore(name, list, kind) {
  const start = list.querySelectorAll('.entry').length;
  const reply = await (await fetch(`/${name}.json?start=${start}`)).json();
  for (const [url, text] of reply.rows) {
    const entry = document.createElement('li');
    entry.className = 'entry';
    entry.innerHTML = '<h3><a></a></h3><p></p>';
    Object.assign(entry.querySelector('a'), { href: url, textContent: text });
    entry.querySelector('p').textContent = kind;
    list.append(entry);
  }
  return start + reply.rows.length < reply.total;
}
