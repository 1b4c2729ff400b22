"""`autoweb init`: write a first case that is proven, and the settings and CI job around it."""

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import tomlkit
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from msgspec import Struct
from playwright.sync_api import Error, Page
from tomlkit.exceptions import TOMLKitError

from pytest_autoweb.base.errors import BrowserError, SettingsError
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.cli.arguments import text_path
from pytest_autoweb.cli.entry_page import (
    add_entry_arguments,
    opened_page,
    served_entry,
    webserver_section,
)
from pytest_autoweb.tools.record.oracle import in_case, in_json, in_template, names_secret
from pytest_autoweb.tools.verify.proposed_cases import links_of

_INIT_ABOUT = """\
Writes a first case for a page of yours and proves it: the page is opened, a link is found that
leads to another page of the site (or else a heading), and the case asks for it. Then pytest plays
the case's own solution, which must pass, and does nothing, which must fail.

  autoweb init https://shop.example/
  autoweb init --static site/ index.html
  autoweb init --command "python manage.py runserver {port}" --ci github

It writes cases/first.yaml, the setting autoweb_models in pyproject.toml (so that `pytest` alone
runs the two controls), lines in .gitignore, with --ci a job, and with --skill what teaches a coding
agent to write, prove and run cases. What exists is kept as it is.

Exit status: 0 the case is proven; 1 a control does not hold; 4 invalid input, or a page that cannot
be opened.
"""
CONTROLS = "builtin/oracle,builtin/noop"
_IGNORED = (
    *(
        "autoweb-report/",
        "autoweb-report.*/",
        "autoweb-proof*/",
        "autoweb-rerun*/",
        "autoweb-try*/",
        "autoweb-explore*/",
        "autoweb-record*/",
    ),
    *("autoweb-blobs/", ".autoweb/"),
    # Keys of providers are read from it.
    ".env",
)
_JOBS = {"github": ".github/workflows/autoweb.yml", "gitlab": ".gitlab-ci.yml"}
_SKILL = "pytest-autoweb/SKILL.md"
_MAX_TRIED = 8
"""The most links that are followed, so that a page of hundreds does not keep one waiting."""


class FirstCase(Struct, frozen=True):
    """A case as a page suggests it."""

    task: str
    check: dict[str, Any]
    oracle: str
    """One line of the step language."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _INIT_ABOUT
    add_entry_arguments(parser)
    parser.add_argument("--ci", choices=tuple(_JOBS), help="also write a job for this CI")
    parser.add_argument(
        "--skill",
        type=Path,
        metavar="DIR",
        help="also write the skill for coding agents below DIR, where your agent looks for skills, "
        "such as .claude/skills or .agents/skills",
    )
    parser.add_argument(
        "--folder", type=text_path, default=Path("cases"), metavar="DIR",
        help="folder of the case files; default: cases",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Write what is missing, then run the two controls on the case.

    Raises:
        AutowebError: an argument cannot be used, or the page cannot be opened.
    """
    folder = args.folder.as_posix()
    file = args.folder / "first.yaml"
    if file.exists():
        _say("kept", file, "it is there already")
    else:
        _write(file, _case_file(args, file))
    add_setting(Path(), folder)
    ignore_runs(Path(".gitignore"))
    if args.ci:
        add_job(Path(), args.ci, folder)
    if args.skill:
        add_skill(args.skill)
    print("\nThe controls, as `pytest` runs them from now on:\n", flush=True)
    command = [sys.executable, "-m", "pytest", str(file), "-q", f"--autoweb-models={CONTROLS}"]
    if code := subprocess.run(command, check=False).returncode:
        print(f"\nThe case is not proven (pytest ended with {code}): see above, change {file}.")
        return 1
    print(f"\nProven: solving {file} passes and doing nothing fails. Next, ask a model:\n")
    print(f"  pytest {folder} --autoweb-models=openai/gpt-5-mini")
    return 0


def _say(done: str, path: Path, why: str) -> None:
    print(f"{done:<8}{path}  ({why})" if why else f"{done:<8}{path}")


def _write(path: Path, text: str, why: str = "") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    _say("wrote", path, why)


def _case_file(args: argparse.Namespace, file: Path) -> str:
    """Return the text of a case file for what the page offers."""
    webserver = webserver_section(args, file)
    with served_entry(args, webserver, file) as (site, entry, _):
        case = propose(entry)
    path = in_template(entry.removeprefix(site))
    return _rendered(
        "case.yaml.j2",
        webserver=webserver,
        entry_url=f"{{{{ webserver.url }}}}{path}" if site else path,
        case=case,
    )


def propose(entry: str) -> FirstCase:
    """Open a page and return a case for it: follow a link, or else answer with the heading.

    Raises:
        BrowserError: the page cannot be opened, or shows neither.
    """
    with opened_page(entry) as page:
        for name in _names_of_links(page, entry)[:_MAX_TRIED]:
            if pattern := _where_it_leads(page, entry, name):
                return FirstCase(
                    task=f"Follow the link “{name}”.",
                    check={"url": pattern},
                    oracle=f'page.get_by_role("link", name={in_json(name)}, exact=True).click()',
                )
        page.goto(entry)
        heading = page.get_by_role("heading").first
        text = heading.inner_text().strip() if heading.count() else ""
        if not text or names_secret(text):
            raise BrowserError(
                f"{entry} shows neither a link to another page nor a heading to ask for; "
                "name another page, or do a task yourself with `autoweb record`"
            )
        return FirstCase(
            task="Answer with the first heading of the page.",
            check={"answer": {"equals": text}},
            oracle='answer(page.get_by_role("heading").first.inner_text())',
        )


def _names_of_links(page: Page, entry: str) -> list[str]:
    """Return the names of links that only one link has and that leave the page, not the site."""
    own = urlsplit(entry)
    found = [(link.name, urlsplit(link.address)) for link in links_of(page)]
    names = [name for name, _ in found]
    return [
        name
        for name, url in found
        if url[:2] == own[:2]
        and url.path != own.path
        and 2 <= len(name) <= 40
        and name.isprintable()
        and not names_secret(name)
        and names.count(name) == 1
    ]


def _where_it_leads(page: Page, entry: str, name: str) -> str:
    """Follow a link and return a pattern for the address behind it; "" if it is of no use."""
    try:
        page.goto(entry)
        page.get_by_role("link", name=name, exact=True).click(timeout=3000)
        page.wait_for_url(lambda url: urlsplit(url).path != urlsplit(entry).path, timeout=5000)
        page.wait_for_load_state()
    except Error:
        return ""
    there = urlsplit(page.url)
    plain = not there.query and not set(there.path) & set("*?[]{}\\!")
    return f"**{there.path}" if plain and there.netloc == urlsplit(entry).netloc else ""


def _rendered(template: str, **values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(asset_dir("templates") / "init"),
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,  # This is YAML; each value is written as JSON, which YAML reads.
    )
    # The page's text must not be read as an expression of the case file, which is a template.
    environment.filters |= {"json": in_json, "case": in_case, "template": in_template}
    return environment.get_template(template).render(**values)


def add_setting(root: Path, folder: str) -> None:
    """Name the controls as models in pyproject.toml, unless models are named there."""
    file = root / "pyproject.toml"
    line = f'autoweb_models = "{CONTROLS}"'
    if other := next(_rivals(root), ""):
        _say("kept", root / other, f"pytest reads its settings there: add {line}")
        return
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        settings = tomlkit.parse(text)
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file} cannot be read: {error}") from None
    table: Any = settings
    for name in ("tool", "pytest", "ini_options"):
        table = table.setdefault(name, tomlkit.table(is_super_table=name != "ini_options"))
    if "autoweb_models" in table:
        _say("kept", file, f"autoweb_models is {table['autoweb_models']}")
        return
    table["autoweb_models"] = CONTROLS
    if isinstance(paths := table.get("testpaths"), list) and folder not in paths:
        paths.append(folder)
    _write(file, tomlkit.dumps(settings), line)


def _rivals(root: Path) -> Iterator[str]:
    """Yield the files that pytest reads instead of pyproject.toml."""
    for name in ("pytest.toml", ".pytest.toml", "pytest.ini", ".pytest.ini"):
        if (root / name).exists():
            yield name
    for name, section in (("tox.ini", "[pytest]"), ("setup.cfg", "[tool:pytest]")):
        file = root / name
        if file.exists() and section in file.read_text(encoding="utf-8", errors="replace"):
            yield name


def ignore_runs(file: Path) -> None:
    """Add the folders of runs, and the file of keys, to .gitignore."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    missing = [line for line in _IGNORED if line not in text.splitlines()]
    if not missing:
        return _say("kept", file, "it has the folders of runs, and .env")
    if text and not text.endswith("\n"):
        text += "\n"
    return _write(file, text + "\n".join(missing) + "\n", ", ".join(missing))


def add_job(root: Path, name: str, folder: str) -> None:
    """Write a job for a CI that runs the case files in a folder, unless its file exists."""
    file = root / _JOBS[name]
    if file.exists():
        return _say("kept", file, "it is there already; docs/ci.md shows what a job needs")
    return _write(file, _rendered(f"{name}.yml", folder=folder))


def add_skill(folder: Path) -> None:
    """Write the skill for coding agents below their folder of skills, unless it is there."""
    file = folder / _SKILL
    if file.exists():
        return _say("kept", file, "it is there already; remove it to get that of this version")
    return _write(file, (asset_dir("skills") / _SKILL).read_text(encoding="utf-8"))
