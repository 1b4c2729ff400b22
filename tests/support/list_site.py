"""A local site of lists that counts what is asked for and refuses when told to."""

from collections import Counter
from collections.abc import Callable
from urllib.parse import parse_qs, urlsplit

from local_site import Site

PER_PAGE = 4


def entries(numbers: range) -> str:
    """A list of links."""
    found = "".join(f'<li><a href="/item/{n}">Entry number {n}</a></li>' for n in numbers)
    return f'<nav><a href="/about">About us</a></nav><ul id="list">{found}</ul>'


def page_of(number: int) -> range:
    """The entries of a page."""
    return range(PER_PAGE * (number - 1) + 1, PER_PAGE * number + 1)


class ListSite(Site):
    """Lists of 24 entries on six pages; the path says how they are turned."""

    def __init__(self) -> None:
        self.refuse: Counter[str] = Counter()
        """Path -> how often it is still refused."""
        super().__init__()

    def find(self, path: str) -> tuple[int, dict[str, str], bytes]:
        """Made-up pages, then those of the test."""
        parts = urlsplit(path)
        html = {"content-type": "text/html; charset=utf-8"}
        if self.refuse[path] > 0:
            self.refuse[path] -= 1
            return 503, html, b"<h1>later</h1>"
        if parts.path.startswith("/item/"):
            return 200, html, f"<h1>{path}</h1>".encode()
        made: Callable[[int], str] | None = PAGES.get(parts.path)
        if made is None:
            return super().find(path)
        number = int(parse_qs(parts.query).get("page", ["1"])[0])
        return 200, html, made(number).encode()

    def asked(self, path: str) -> Counter[str]:
        """How often each address of a list was asked for."""
        return Counter(hit for hit in self.hits if urlsplit(hit).path == path)


def linked(number: int) -> str:
    """Pages with addresses, and a link to the next one."""
    following = f'<a href="/linked?page={number + 1}">Next</a>' if number < 6 else ""
    return entries(page_of(number)) + f'<p class="pagination">{following}</p>'


def scripted(number: int) -> str:
    """One address for all pages; a script asks for nothing and turns them."""
    return (
        entries(range(0))
        + """<p class="pager"><button id="go">下一页</button>
<input class="jump-to" id="jump" hidden></p><script>
let page = 1;
const show = () => {
  const rows = [1, 2, 3, 4].map((n) => 4 * (page - 1) + n);
  document.getElementById('list').innerHTML = rows.map(
    (n) => `<li><a href="/item/${n}">Entry number ${n}</a></li>`).join('');
  document.getElementById('go').disabled = page === 6;
};
document.getElementById('go').onclick = () => { page += 1; show(); };
document.getElementById('jump').onchange = (e) => { page = Number(e.target.value); show(); };
document.getElementById('jump').hidden = location.search !== '?jump';
show();
</script>"""
    )


def odd(number: int) -> str:
    """The way on has a name that no table knows; beside it stands one that looks like it."""
    following = (
        f'<a class="x" href="/odd?page={number + 1}">Turn the leaf</a>' if number < 3 else ""
    )
    return entries(page_of(number)) + f'<p><a href="/about">Turn the page over</a> {following}</p>'


def growing(number: int) -> str:
    """One page whose list grows; a reply that is refused changes nothing."""
    return (
        entries(page_of(1))
        + """<button id="more">Load more</button><script>
let page = 1;
document.getElementById('more').onclick = async () => {
  const reply = await fetch(`/rows?page=${page + 1}`);
  if (!reply.ok) return;
  page += 1;
  document.getElementById('list').insertAdjacentHTML('beforeend', await reply.text());
  if (page === 4) document.getElementById('more').remove();
};
</script>"""
    )


def rows(number: int) -> str:
    """What a page adds to the list."""
    return "".join(f'<li><a href="/item/{n}">Entry number {n}</a></li>' for n in page_of(number))


def clicked(number: int) -> str:
    """Entries that are no links: a script opens their pages."""
    found = "".join(
        f'<li tabindex="0" onclick="location.href=\'/item/{n}\'">Entry number {n}</li>'
        for n in range(1, 4)
    )
    return f'<ul id="list">{found}</ul>'


PAGES: dict[str, Callable[[int], str]] = {
    "/linked": linked,
    "/scripted": scripted,
    "/odd": odd,
    "/clicked": clicked,
    "/growing": growing,
    "/rows": rows,
}
