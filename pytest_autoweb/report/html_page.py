"""`index.html` and other self-contained pages: styles, scripts and data in one file.

They load nothing from outside: a page's policy allows only the scripts and styles that it holds.
"""

import base64
import hashlib
import re
from collections.abc import Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.report.panels import panels_in_order
from pytest_autoweb.results.runs.saving import compact_json

_FRAME = (
    *(
        "base.css",
        "page.css",
        "charts.css",
        "panels.css",
        "detail.css",
        "pictures.css",
        "locations.css",
    ),
    *("dom.js", "charts.js", "code.js", "page.js", "panels.js"),
)
"""The files that all panels need."""
_LAST = (
    *("locations.js", "looks.js", "handover.js", "pictures.js", "detail.js", "parts.js"),
    "main.js",
)
"""The file that shows one cell, and the one that starts the page once every panel is known."""

_JSON_ESCAPES = {
    "<": r"\u003c",
    ">": r"\u003e",
    "&": r"\u0026",
    "\u2028": r"\u2028",
    "\u2029": r"\u2029",
}

LINKED = "'self' file:"
"""The policy sources that match files next to the page, from disk or from a server."""


def render_html(
    report: dict[str, Any],
    pictures: dict[str, str],
    *,
    linked: Collection[str] | None = (),
    key: str = "",
    says: Mapping[str, str] | None = None,
) -> str:
    """Render the page for the content of `report.json`.

    Args:
        report: the report, already shortened to its size limit; or, with a key, that of a large
            run, whose cells name the part and the place of their details.
        pictures: `data:` URIs by path below the run folder.
        linked: the paths of pictures to load from files next to the page; None means all.
        key: opens the parts of a large report; empty if the page holds all details.
        says: what failed, by the folders of the cells that did not pass.
    """
    built_in = [panel for panel in panels_in_order() if panel.files]
    files = (*_FRAME, *(name for panel in built_in for name in panel.files), *_LAST)
    places = [(panel.order, panel.name) for panel in built_in]
    places += [(panel["order"], panel["name"]) for panel in report["panels"]]
    # Sorted by the order alone: among panels with the same order, the first added stays first.
    names = [name for _, name in sorted(places, key=lambda place: place[0])]
    return self_contained(
        "index.html.j2",
        f"autoweb report {report['ts']}",
        tuple(name for name in files if name.endswith(".css")),
        tuple(name for name in files if name.endswith(".js")),
        {
            "report": report,
            "pictures": pictures,
            "linked": None if linked is None else sorted(linked),
            "says": dict(says or {}),
            "panels": names,
            "key": key,
        },
        beside=(
            *(("img-src",) if linked is None or linked else ()),
            *(("frame-src",) if key else ()),
        ),
    )


def self_contained(
    template: str,
    title: str,
    styles: tuple[str, ...],
    scripts: tuple[str, ...],
    data: Any,
    beside: Collection[str] = (),
) -> str:
    """Return a page that loads nothing from outside.

    Args:
        template: a file of `templates/report`, like the following.
        title: the page's title.
        styles: files that become its style.
        scripts: modules in the order of their imports; they are joined into one.
        data: the JSON value that the script draws.
        beside: the directives of the policy that allow files next to the page: `img-src`,
            `frame-src`. Without them, the page needs no other file.
    """
    style, script = _style(styles), _script(scripts)
    pictures = f"data: {LINKED}" if "img-src" in beside else "data:"
    frames = f"frame-src {LINKED}; " if "frame-src" in beside else ""
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"img-src {pictures}; {frames}base-uri 'none'; form-action 'none'"
    )
    # The template marks style, script and data as safe: they are this package's own files, and
    # JSON without any `<`, `>` or `&`.
    return _template(template).render(
        title=title, policy=policy, style=style, script=script, data=inert(compact_json(data))
    )


def part_frame(key: str) -> tuple[str, str]:
    """Return the text of a part before and after its cells, each of which is an `inert_script`.

    Args:
        key: the key that must be sent to the part to get a cell.
    """
    script, between = _script(("part.js",)), "\0"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; base-uri 'none'; form-action 'none'"
    )
    page = _template("part.html.j2").render(
        policy=policy, script=script, key=inert(compact_json(key)), cells=between
    )
    before, _, after = page.partition(between)
    return before, after


def inert_script(text: str) -> str:
    """Return a script element with JSON that the browser keeps and does not run."""
    return f'<script type="application/json" class="cell">{inert(text)}</script>\n'


def inert(text: str) -> str:
    """Return JSON that cannot end its script element."""
    for character, escape in _JSON_ESCAPES.items():
        text = text.replace(character, escape)
    return text


def _template(name: str) -> Template:
    environment = Environment(
        loader=FileSystemLoader(_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    return environment.get_template(name)


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _folder() -> Path:
    return asset_dir("templates") / "report"


@cache
def _style(names: tuple[str, ...]) -> str:
    return "".join((_folder() / name).read_text(encoding="utf-8") for name in names)


@cache
def _script(names: tuple[str, ...]) -> str:
    """Join the script files into one module, dropping the imports between them."""
    source = "\n".join((_folder() / name).read_text(encoding="utf-8") for name in names)
    source = re.sub(r"^import .*;\n", "", source, flags=re.MULTILINE)
    return re.sub(r"^export ", "", source, flags=re.MULTILINE)
