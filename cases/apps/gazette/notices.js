// Shows ten notices at a time; pages have no address of their own.
const rows = document.getElementById('rows');
let start = 0;
let total = 0;
let size = 10;

async function show() {
  const reply = await (await fetch(`/notices.json?start=${start}`)).json();
  ({ total, size } = reply);
  rows.replaceChildren(...reply.rows.map(([url, text], n) => {
    const row = document.createElement('tr');
    const link = Object.assign(document.createElement('a'), { href: url, textContent: text, title: text });
    row.append(document.createElement('td'), document.createElement('td'), document.createElement('td'));
    row.children[0].textContent = String(start + n + 1);
    row.children[1].append(link);
    row.children[2].textContent = '2025-05-06';
    return row;
  }));
  document.getElementById('now').textContent = `第${start / size + 1}页`;
  for (const control of document.querySelectorAll('[data-go]')) {
    const back = ['first', '-1'].includes(control.dataset.go);
    control.classList.toggle('disabled', back ? start === 0 : start + size >= total);
  }
}

for (const control of document.querySelectorAll('[data-go]')) {
  control.addEventListener('click', () => {
    const last = Math.floor((total - 1) / size) * size;
    const to = { first: 0, last }[control.dataset.go] ?? start + Number(control.dataset.go) * size;
    if (to < 0 || to > last || to === start) return;
    start = to;
    show();
  });
}
show();
