"""`index.html`: one self-contained page that opens from disk.

The run travels as JSON in an inert script element; the page's own script draws it with text
nodes only. A strict policy with the hashes of exactly this script and this style forbids
everything else, so markup in page or model text stays text.
"""

import base64
import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from pytest_autoweb.assets import asset_dir

_STYLES = (
    *("base.css", "page.css", "matrix.css", "charts.css", "panels.css", "detail.css"),
    "decisions.css",
)
_SCRIPTS = (
    *("dom.js", "charts.js", "code.js", "page.js", "gates.js", "comparison.js", "costs.js"),
    *("stability.js", "matrix.js", "decisions.js", "detail.js", "main.js"),
)
"""In the order of their imports; they become one module."""

_JSON_ESCAPES = str.maketrans(
    {"<": r"\u003c", ">": r"\u003e", "&": r"\u0026", "\u2028": r"\u2028", "\u2029": r"\u2029"}
)


def render_html(report: dict[str, Any], pictures: dict[str, str]) -> str:
    """The page for a report as it stands in `report.json`.

    Args:
        report: the report, already shortened to its size limit.
        pictures: `data:` URIs by path below the run folder.
    """
    style, script = _style(), _script()
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    environment = Environment(
        loader=FileSystemLoader(_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    # The template marks style, script and data as safe: they are this package's own files, and
    # JSON without any `<`, `>` or `&`.
    return environment.get_template("index.html.j2").render(
        title=f"autoweb report {report['ts']}",
        policy=policy,
        style=style,
        script=script,
        data=_inert({"report": report, "pictures": pictures}),
    )


def _inert(data: Any) -> str:
    """JSON that cannot end its script element."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.translate(_JSON_ESCAPES)


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _folder() -> Path:
    return asset_dir("templates") / "report"


@cache
def _style() -> str:
    return "".join((_folder() / name).read_text(encoding="utf-8") for name in _STYLES)


@cache
def _script() -> str:
    """The script files as one module: imports between them fall away."""
    source = "\n".join((_folder() / name).read_text(encoding="utf-8") for name in _SCRIPTS)
    source = re.sub(r"^import .*;\n", "", source, flags=re.MULTILINE)
    return re.sub(r"^export ", "", source, flags=re.MULTILINE)
