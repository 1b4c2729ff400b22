"""Lists whose rows move while one acts on them, as pages that note which record was acted on.

Each shows records "No. 100" onwards with a button for each; `window.done` lists the numbers whose
button was used.
"""

_HEAD = """<!doctype html><meta charset="utf-8"><title>Orders</title>
<style>
  body { margin: 0; font: 16px sans-serif } h1 { margin: 10px }
  #box { height: 300px; overflow: auto; position: relative; border: 1px solid }
  .row { height: 40px; display: flex; gap: 20px; align-items: center }
</style><h1>Orders</h1><div id="box"></div><p id="end"></p>
<script>
  window.done = [];
  const NAMES = ['Ana', 'Ben', 'Cem', 'Dora', 'Eli'];
  const ACTION = 'Delete';
  const box = document.getElementById('box');
  const texts = (n) => ['No. ' + n, NAMES[n % 5], (n % 7) * 10 + '.00'];
  const act = (n) => {
    window.done.push(n);
    if (location.protocol === 'http:') fetch('/done?' + n, { keepalive: true });
    document.getElementById('end').textContent = 'Deleted ' + n;
  };
  const fresh = (n) => {
    const row = document.createElement('div');
    row.className = 'row';
    for (const text of texts(n)) {
      const cell = document.createElement('span');
      cell.textContent = text;
      row.append(cell);
    }
    const button = document.createElement('button');
    button.textContent = ACTION;
    button.addEventListener('click', () => act(Number(row.dataset.n)));
    row.dataset.n = n;
    row.append(button);
    return row;
  };
  const fill = (row, n) => {
    row.dataset.n = n;
    const cells = row.querySelectorAll('span');
    texts(n).forEach((text, at) => { cells[at].textContent = text; });
  };
"""
_SCRIPTS = {
    # Rows outside the box are taken out of the page, and others are made.
    "redrawn": """
  const draw = () => {
    const first = Math.max(0, Math.floor(box.scrollTop / 40) - 6);
    box.replaceChildren();
    const above = document.createElement('div'), below = document.createElement('div');
    above.style.height = first * 40 + 'px';
    below.style.height = (200 - first - 20) * 40 + 'px';
    box.append(above);
    for (let n = first; n < first + 20; n += 1) box.append(fresh(100 + n));
    box.append(below);
  };
  draw();
  let drawn = 0;
  const late = () => { if (box.scrollTop !== drawn) { drawn = box.scrollTop; draw(); } };
  box.addEventListener('scroll', () => setTimeout(late, 50));
  box.addEventListener('pointermove', late);
""",
    # The same few rows show other records once the box is scrolled.
    "recycled": """
  const inner = document.createElement('div');
  inner.style.cssText = 'height:8000px; position:relative';
  box.append(inner);
  const rows = Array.from({ length: 14 }, (_, n) => fresh(100 + n));
  for (const row of rows) row.style.cssText = 'position:absolute; width:100%';
  inner.append(...rows);
  const draw = () => {
    const first = Math.floor(box.scrollTop / 40);
    rows.forEach((row, at) => {
      fill(row, 100 + first + at);
      row.style.top = (first + at) * 40 + 'px';
    });
  };
  draw();
  box.addEventListener('scroll', draw);
""",
    # Pressing the mouse brings other records into the same rows.
    "pressed": """
  let first = 100;
  const rows = Array.from({ length: 6 }, (_, n) => fresh(first + n));
  box.append(...rows);
  box.addEventListener('mousedown', () => {
    first += 30;
    rows.forEach((row, at) => fill(row, first + at));
  });
""",
    # Pointing at the list does.
    "pointed": """
  let first = 100;
  const rows = Array.from({ length: 6 }, (_, n) => fresh(first + n));
  box.append(...rows);
  box.addEventListener('mousemove', () => {
    first += 30;
    rows.forEach((row, at) => fill(row, first + at));
  });
""",
    # A timer sorts the rows the other way round.
    "sorted": """
  const rows = Array.from({ length: 6 }, (_, n) => fresh(100 + n));
  box.append(...rows);
  window.sorts = setInterval(() => { rows.reverse(); box.replaceChildren(...rows); }, 40);
""",
    # A timer draws the same rows anew all the time.
    "rendered": """
  const draw = () => box.replaceChildren(...Array.from({ length: 6 }, (_, n) => fresh(100 + n)));
  draw();
  window.draws = setInterval(draw, 150);
""",
    # More rows come at the end when the last ones are reached.
    "endless": """
  let next = 100;
  const more = () => { for (let n = 0; n < 10; n += 1) box.append(fresh(next++)); };
  more();
  box.addEventListener('scroll', () => {
    if (box.scrollTop + box.clientHeight > box.scrollHeight - 60 && next < 160) more();
  });
""",
    # Newer records come in at the top.
    "growing": """
  let newest = 100;
  box.append(...Array.from({ length: 6 }, (_, n) => fresh(100 + n)));
  window.comes = setInterval(() => { newest -= 1; box.prepend(fresh(newest)); }, 40);
""",
    # The same rows show other records once somebody says so.
    "told": """
  let first = 100;
  const rows = Array.from({ length: 6 }, (_, n) => fresh(first + n));
  box.append(...rows);
  window.move = () => { first += 30; rows.forEach((row, at) => fill(row, first + at)); };
""",
    # Nothing moves, but the text of what is pointed at changes.
    "still": """
  box.append(...Array.from({ length: 6 }, (_, n) => fresh(100 + n)));
  for (const button of box.querySelectorAll('button')) {
    button.addEventListener('mouseenter', () => { button.textContent = 'Delete now?'; });
    button.addEventListener('focus', () => { button.parentNode.append(' (chosen)'); });
  }
""",
}
KINDS = tuple(_SCRIPTS)


def page_of(kind: str, *, action: str = "Delete") -> str:
    """Return the page with a list of this kind."""
    text = f"{_HEAD}{_SCRIPTS[kind]}</script>"
    return text.replace("const ACTION = 'Delete'", f"const ACTION = '{action}'")
