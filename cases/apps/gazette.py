"""A publisher's site made of lists: `gazette.py --port PORT`.

Each list leads on in another way: links to pages, a script that changes the page under the same
address, scrolling, a button that loads more, an offset in the address. Style and scripts lie in the
folder `gazette` beside this file.
"""

import argparse
import html
import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

FOLDER = Path(__file__).parent / "gazette"
KINDS = {".css": "text/css", ".js": "text/javascript"}
SUBJECTS = ("History", "Science", "Poetry")
TOPICS = ("Bridges", "Rivers", "Gardens", "Mills", "Harbours", "Forests", "Towers")
WORKS = ("道路养护", "机电设备采购", "生态修复", "校舍改造", "给水管网", "交通信号")
PLACES = ("普陀区", "南汇镇", "滨江新区", "西湖街道")
TRADES = ("Joiner", "Nurse", "Baker", "Surveyor", "Welder")

BOOKS = {
    f"/books/{number}": f"{TOPICS[number % 7]} of the {SUBJECTS[number % 3]} shelf, volume {number}"
    for number in range(1, 37)
}
NOTICES = {
    f"/notices/2025-{number:03d}.html": (
        f"{PLACES[number % 4]}{WORKS[number % 6]}项目招标公告（第{number}号）"
    )
    for number in range(1, 24)
}
ARTICLES = {
    f"/articles/{topic.lower()}-{number}": f"{topic}: a walk, part {number}"
    for number in range(1, 4)
    for topic in TOPICS
}
JOBS = {
    f"/jobs?id={4000 + 7 * number}": f"{TRADES[number % 5]} ({number} hours)"
    for number in range(10, 24)
}
PAPERS = {f"/archive/paper/{number}": f"Minutes of session {number}" for number in range(100, 142)}
PAGES = {**BOOKS, **NOTICES, **ARTICLES, **JOBS, **PAPERS}


def page(title: str, body: str, language: str = "en") -> str:
    """A whole page, with the menu and the corners that every page of the site has."""
    return f"""<!doctype html><html lang="{language}"><meta charset="utf-8"><title>{title}</title>
<link rel="stylesheet" href="/gazette.css">
<header><nav class="menu"><a href="/books">Books</a> <a href="/notices">招标公告</a>
<a href="/articles">Articles</a> <a href="/jobs">Jobs</a> <a href="/archive">Archive</a></nav>
</header>
<main>{body}</main>
<aside class="box"><h2>Most read</h2><ol><li><a href="/about">About us</a></li>
<li><a href="/articles/bridges-1">Bridges: a walk, part 1</a></li></ol></aside>
<footer><a href="/about">About</a> · <a href="/contact">Contact</a></footer></html>"""


def entries(found: dict[str, str], kind: str) -> str:
    """A list of links, with an advertisement after the third."""
    rows = [
        f'<li class="entry {"odd" if n % 2 else "even"}">'
        f'<h3><a href="{url}">{html.escape(text)}</a></h3>'
        f'<p>{kind} · <a class="tag" href="/about">more of this kind</a></p></li>'
        for n, (url, text) in enumerate(found.items())
    ]
    rows.insert(3, '<li class="advert"><h3><a href="/contact">Advertise here</a></h3></li>')
    return f'<ul class="entries">{"".join(rows)}</ul>'


def part(found: dict[str, str], start: int, size: int) -> dict[str, str]:
    """Some of the entries."""
    return dict(list(found.items())[start : start + size])


def books(query: dict[str, str]) -> str:
    """Pages of eight, by links; a calendar and a carousel have a "Next" of their own."""
    subject, number = query.get("subject", ""), int(query.get("page", 1))
    found = {url: text for url, text in BOOKS.items() if subject in text}
    last = -(-len(found) // 8)
    options = "".join(
        f"<option{' selected' if subject == name else ''}>{name}</option>" for name in SUBJECTS
    )
    keep = f"subject={subject}&amp;" if subject else ""
    links = [f'<a href="?{keep}page={number - 1}">‹ Previous</a>'] if number > 1 else []
    links += [
        f'<a href="?{keep}page={number + 1}">Next ›</a>' if number < last else "<span>Next ›</span>"
    ]
    return page(
        "Books",
        f"""<h1>Books</h1>
<div class="carousel"><button>Previous</button> Book of the week <button>Next</button></div>
<form><label>Subject <select name="subject"><option value="">All</option>{options}</select></label>
<button>Show</button></form>{entries(part(found, 8 * (number - 1), 8), "Book")}
<div class="pagination">{" ".join(links).replace("<span>", '<span class="disabled">')}</div>
<div class="calendar"><button>‹</button> May <button title="Next month">›</button></div>""",
    )


def notices(query: dict[str, str]) -> str:
    """A Chinese list that a script fills; its address never changes."""
    return page(
        "招标公告",
        """<h1>招标公告</h1>
<p class="crumbs"><a href="/">首页</a> &gt; <a href="/notices">招标公告</a></p>
<table class="list"><tbody id="rows"></tbody></table>
<div class="pages"><a href="javascript:;" data-go="first">首页</a>
<a href="javascript:;" data-go="-1">上一页</a> <b id="now"></b>
<a href="javascript:;" data-go="1">下一页</a> <a href="javascript:;" data-go="last">尾页</a></div>
<p><a href="/about">下一篇：关于我们</a></p><script src="/notices.js"></script>""",
        "zh",
    )


def articles(query: dict[str, str]) -> str:
    """A list that grows while it is scrolled."""
    return page(
        "Articles",
        f"""<h1>Articles</h1>{entries(part(ARTICLES, 0, 7), "Article")}
<script type="module" src="/articles.js"></script>""",
    )


def jobs(query: dict[str, str]) -> str:
    """A list with a button that loads more, or one job."""
    if "id" in query:
        return detail(f"/jobs?id={query['id']}")
    return page(
        "Jobs",
        f"""<h1>Open positions</h1>{entries(part(JOBS, 0, 5), "Job")}
<button id="more">Show more jobs</button> <a href="/about">More about us</a>
<script type="module" src="/jobs.js"></script>""",
    )


def archive(query: dict[str, str]) -> str:
    """Pages of ten by an offset, with numbers and no word for the next page."""
    offset = int(query.get("offset", 0))
    numbers = "".join(
        f'<li><a aria-current="page">{n + 1}</a></li>'
        if 10 * n == offset
        else f'<li><a href="/archive?offset={10 * n}&amp;limit=10">{n + 1}</a></li>'
        for n in range(5)
    )
    return page(
        "Archive",
        f"""<h1>Archive</h1>
{entries(part(PAPERS, offset, 10), "Paper")}<ul class="numbers">{numbers}</ul>""",
    )


def detail(url: str) -> str:
    """The page of one entry."""
    return page(PAGES[url], f"<h1>{html.escape(PAGES[url])}</h1><p>The whole text.</p>")


LISTS = {
    "/books": books,
    "/notices": notices,
    "/articles": articles,
    "/jobs": jobs,
    "/archive": archive,
}
DATA = {"/notices.json": (NOTICES, 10), "/articles.json": (ARTICLES, 7), "/jobs.json": (JOBS, 5)}


class Handler(BaseHTTPRequestHandler):
    """Answers for lists, their data and their entries."""

    def do_GET(self) -> None:
        """A page, a part of a list as JSON, or a file."""
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        file = FOLDER / parts.path.lstrip("/")
        if parts.path in LISTS:
            self._send(LISTS[parts.path](query))
        elif parts.path in DATA:
            found, size = DATA[parts.path]
            rows = part(found, int(query.get("start", 0)), size)
            reply = {"rows": list(rows.items()), "size": size, "total": len(found)}
            self._send(json.dumps(reply), "application/json")
        elif parts.path in PAGES:
            self._send(detail(parts.path))
        elif file.parent == FOLDER and file.is_file():
            self._send(file.read_text(encoding="utf-8"), KINDS[file.suffix])
        else:
            self._send(page("Gazette", "<h1>Gazette</h1>"))

    def _send(self, text: str, kind: str = "text/html") -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve until stopped."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args()
    ThreadingHTTPServer(("127.0.0.1", options.port), Handler).serve_forever()


if __name__ == "__main__":
    main()
