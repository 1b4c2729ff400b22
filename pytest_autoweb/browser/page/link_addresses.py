"""What of links' addresses is shown: as little as tells links of one name apart."""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence

from pytest_autoweb.browser.page.page_tree import Node, every

_URL_CHARS = 60
_URL_PARTS = 40


def shorten_addresses(nodes: Sequence[Node]) -> None:
    """Keep of each link's address what tells it apart from links of the same name."""
    named: dict[str, list[Node]] = defaultdict(list)
    for node in every(nodes):
        if node.role == "link":
            named[node.name].append(node)
    for name, links in named.items():
        plain = [_without_noise(link.url) for link in links]
        distinct = {url for url in plain if url}
        cut = _telling(distinct) if name and len(distinct) > 1 else {}
        for link, url in zip(links, plain, strict=True):
            link.url = _cut(cut.get(url, "") if name else url)


def _cut(url: str) -> str:
    return url if len(url) <= _URL_CHARS else f"{url[: _URL_CHARS - 1]}…"


def _without_noise(url: str) -> str:
    """Return an address without what leads nowhere."""
    return "" if url.startswith(("#", "javascript:", "data:")) else url[:500]


def _telling(urls: Collection[str]) -> dict[str, str]:
    """Return for each address what is left without the beginning and end that all share."""
    parts = {url: re.findall(r"[/?&#=]*[^/?&#=]+", url)[:_URL_PARTS] for url in urls}
    columns = list(zip(*parts.values(), strict=False))
    first = next((i for i, column in enumerate(columns) if len(set(column)) > 1), len(columns))
    ends = list(zip(*(found[first:][::-1] for found in parts.values()), strict=False))
    last = next((i for i, column in enumerate(ends) if len(set(column)) > 1), len(ends))
    middles = {url: found[first : len(found) - last] for url, found in parts.items()}
    # As little from the beginning of what differs as still differs.
    longest = max(map(len, middles.values()))
    size = next((n for n in range(1, longest) if _differ(middles.values(), n)), longest)
    return {
        url: ("…" if first else "")
        + "".join(middle[:size])
        + ("…" if last or len(middle) > size else "")
        for url, middle in middles.items()
    }


def _differ(middles: Collection[list[str]], parts: int) -> bool:
    return len({tuple(middle[:parts]) for middle in middles}) == len(middles)
