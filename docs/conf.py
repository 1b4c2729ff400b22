"""How Sphinx makes the site of these pages; `make docs` builds it into `site/`.

The pages stay plain Markdown with links that also work where the repository is hosted. What a page
of `docs/reference` takes from the code stands in it as a line `<!-- from the code: NAME -->`.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

from pytest_autoweb import __version__
from pytest_autoweb.cases.file_layout import case_json_schema
from pytest_autoweb.cli.command_line import COMMANDS, build_parser, command_parser
from pytest_autoweb.report.gates.built_in_gates import GATES
from pytest_autoweb.report.panels import PANELS
from pytest_autoweb.sandbox.allowed_python import MODULES
from pytest_autoweb.sandbox.rules import BORDER_RULES, LINT_RULES, STRICT_RULES
from pytest_autoweb.session.help_texts import HELP_LISTS
from pytest_autoweb.settings.run_settings import OPTIONS

ROOT = Path(__file__).parent.parent

project = "pytest-autoweb"
author = "the authors of pytest-autoweb"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["schema"]
templates_path = ["templates"]
nitpicky = False
# The anchors that links on hosting sites use.
myst_heading_anchors = 4
# Shown as it is: a listing may be cut with …, or hold what no lexer knows.
suppress_warnings = ["misc.highlighting_failure"]

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
napoleon_google_docstring = True
napoleon_numpy_docstring = False

html_theme = "furo"
html_title = f"pytest-autoweb {release}"
html_show_sphinx = False
html_copy_source = False
html_show_copyright = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"navigation_with_keys": True}

_CODE = re.compile(r"(?<!`)`([^`]+)`(?!`)")
_HIDDEN_COLON = "\ue000"
_MARKER = re.compile(r"^<!-- from the code: ([a-z ]+) -->$", re.MULTILINE)


def commands() -> str:
    """Return a section for each `autoweb` command, with its help."""
    # The width of a page of the theme.
    os.environ["COLUMNS"] = "88"
    parser = build_parser()
    sections = []
    for name in COMMANDS:
        command = command_parser(parser, name)
        sections.append(f"## autoweb {name}\n\n```text\n{command.format_help().strip()}\n```\n")
    return "\n".join(sections)


def case_file() -> str:
    """Return a section for each type of the case file's JSON Schema, with a row for each field."""
    schema = case_json_schema()
    types = {"The file": schema, **schema["$defs"]}
    sections = []
    for name, shape in types.items():
        if not (fields := shape.get("properties")):
            continue
        needed = set(shape.get("required", ()))
        rows = [
            f"| `{field}`{' (needed)' if field in needed else ''} | {_kind(about)} "
            f"| {_cell(about.get('description', ''))} |"
            for field, about in fields.items()
        ]
        says = _cell(shape.get("description", ""))
        table = "\n".join(["| field | type | meaning |", "|---|---|---|", *rows])
        sections.append(f"## {name}\n\n{says}\n\n{table}\n")
    return "\n".join(sections)


def flags(everyday: bool) -> str:
    """Return a table of the flags that `pytest --help` shows, or of all the others."""
    rows = [
        f"| `{_cell(option.usage)}` | {f'`{option.default}`' if option.default else 'none'} "
        f"| {_cell(in_a_sentence(option.help))} |"
        for option in OPTIONS
        if option.everyday is everyday and not option.instead
    ]
    return "\n".join(["| flag | default | meaning |", "|---|---|---|", *rows])


def in_a_sentence(text: str) -> str:
    """Return a help text with what is registered in the place of each placeholder."""
    for name, kind in HELP_LISTS.items():
        told = (f"{variant.name} ({variant.summary})" for variant in kind.values())
        text = text.replace(f"{{{name}}}", ", ".join(told))
    return text


def old_names() -> str:
    """Return a table of the flags of earlier versions, with what to write instead."""
    rows = [
        f"| `{old.flag}` | `--autoweb-{(option.instead or option.name).replace('_', '-')}` "
        f"| {_cell(in_a_sentence(option.help))} |"
        for option in OPTIONS
        for old in option.names
        if option.instead or old.name == option.former
    ]
    return "\n".join(["| old name | write | meaning |", "|---|---|---|", *rows])


def gates() -> str:
    """Return a table of the built-in gates, in the order in which they are judged."""
    rows = [
        f"| `{gate.name}` | {gate.order} | {_cell(gate.summary)} |"
        for gate in sorted(GATES.values(), key=lambda gate: gate.order)
    ]
    return "\n".join(["| gate | order | holds when |", "|---|--:|---|", *rows])


def rules(those: dict[str, str]) -> str:
    """Return a table of rules of the sandbox, with what each refuses."""
    rows = [f"| {rule} | {_cell(text)} |" for rule, text in sorted(those.items())]
    return "\n".join(["| rule | what is refused |", "|---|---|", *rows])


def modules() -> str:
    """Return a table of the modules that generated code may import, with their members."""
    rows = [
        f"| `{name}` | {' '.join(f'`{member}`' for member in sorted(members))} |"
        for name, members in sorted(MODULES.items())
        if name not in {"playwright", "urllib"}  # Only what is in them can be imported.
    ]
    return "\n".join(["| module | members |", "|---|---|", *rows])


def panels() -> str:
    """Return a table of the report's panels, from top to bottom."""
    rows = [
        f"| {panel.title} | `{panel.name}` | {panel.order} | {_cell(panel.summary)} |"
        for panel in sorted(PANELS.values(), key=lambda panel: panel.order)
    ]
    return "\n".join(["| panel | name | order | shows |", "|---|---|--:|---|", *rows])


def _kind(about: dict[str, Any]) -> str:
    if "$ref" in about:
        return str(about["$ref"]).rpartition("/")[2]
    if "const" in about or "enum" in about:
        return " or ".join(f"`{value}`" for value in about.get("enum", [about.get("const")]))
    if several := about.get("anyOf") or about.get("oneOf"):
        return " or ".join(dict.fromkeys(_kind(one) for one in several))
    kind = about.get("type", "any value")
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _cell(text: str) -> str:
    return re.sub(r"\s+", " ", text).replace("|", "\\|").replace("<", "\\<").strip()


def page_of_the_repository(name: str) -> str:
    """Return a page from beside `docs`, with its links as they are from `docs/reference`."""
    text = (ROOT / name).read_text(encoding="utf-8")
    return re.sub(r"\]\(docs/", "](../", text).partition("\n")[2]


SOURCES = {
    "commands": commands,
    "case file": case_file,
    "everyday flags": lambda: flags(everyday=True),
    "other settings": lambda: flags(everyday=False),
    "old names": old_names,
    "gates": gates,
    "panels": panels,
    "lint rules": lambda: rules(LINT_RULES | STRICT_RULES),
    "border rules": lambda: rules(BORDER_RULES),
    "modules": modules,
    "changelog": lambda: page_of_the_repository("CHANGELOG.md"),
    "contributing": lambda: page_of_the_repository("CONTRIBUTING.md"),
}


def fill(app: Sphinx, page: str, source: list[str]) -> None:
    """Put in what comes from the code, and lead links to pages outside `docs` to their copies."""
    text = _MARKER.sub(lambda found: SOURCES[found[1]](), source[0])
    here = "../" * page.count("/")
    for name in ("CHANGELOG", "CONTRIBUTING"):
        text = text.replace(f"]({here}../{name}.md", f"]({here}reference/{name.lower()}.md")
    source[0] = text


def quote(app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Show `code` of docstrings as code: to Sphinx single quotes are no markup of their own.

    What stands before a colon in the docstring of an attribute would be taken for its type, so the
    colon is hidden until that has been looked for.
    """
    text = _CODE.sub(r"``\1``\\ ", "\n".join(lines))
    if what == "attribute":
        text = text.replace(":", _HIDDEN_COLON)
    lines[:] = text.splitlines()


def unhide(
    app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]
) -> None:
    """Show the colons again that `quote` has hidden."""
    lines[:] = [line.replace(_HIDDEN_COLON, ":") for line in lines]


RANKS = {
    "how-do-i": 3.0,
    "troubleshooting": 2.0,
    "glossary": 1.5,
    "coming-from": 1.2,
    "tutorial": 1.2,
    "why": 0.8,
    "statistics": 0.6,
    "security": 0.8,
    "index": 0.3,
    "flow": 0.5,
    "architecture": 0.2,
    "benchmarks": 0.3,
    "cluster": 0.3,
    "mutants": 0.2,
    "performance": 0.4,
    "releasing": 0.2,
    "scale": 0.3,
    "contributing": 0.3,
    "reference": 0.4,
    "reference/changelog": 0.1,
    "reference/contributing": 0.2,
}
"""What weighs more in a search than other pages, and what less: a page, or a folder."""


def sections_of(app: Sphinx) -> Iterator[dict[str, Any]]:
    """Yield what the search looks through: each section, with its own text."""
    for page in sorted(app.env.found_docs):
        tree = app.env.get_doctree(page)
        rank = RANKS.get(page, RANKS.get(page.partition("/")[0], 1.0))
        of = app.env.titles[page].astext()
        for section in tree.findall(nodes.section):
            own = (part for part in section.children if not isinstance(part, nodes.section))
            title, *rest = own
            text = " ".join(words for part in rest for words in _texts(part))
            if not text.strip():
                continue
            yield {
                "page": page,
                "anchor": "" if section.parent is tree else section["ids"][0],
                "of": of,
                "title": title.astext(),
                "text": re.sub(r"\s+", " ", text).strip(),
                "rank": rank,
            }


def _texts(part: nodes.Node) -> Iterator[str]:
    """Yield the paragraphs, cells and code of a part; a picture has the text that replaces it."""
    if isinstance(part, nodes.TextElement):
        if not isinstance(part, nodes.comment):
            yield part.astext()
        return
    for child in part.children:
        yield from _texts(child)


def write_search(app: Sphinx, error: Exception | None) -> None:
    """Write the sections as a script, which a page that is opened from disk may load."""
    if error is None and app.builder.name == "html":
        data = json.dumps(list(sections_of(app)), ensure_ascii=False)
        script = Path(app.outdir) / "_static" / "sections.js"
        script.write_text(f"globalThis.SECTIONS = {data};\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register what this file adds to Sphinx."""
    app.connect("source-read", fill)
    app.connect("build-finished", write_search)
    # Before and after the extension that reads Google's style, which has 500.
    app.connect("autodoc-process-docstring", quote, priority=400)
    app.connect("autodoc-process-docstring", unhide, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
