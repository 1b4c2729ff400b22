"""MiniWoB++: its tasks by seed, with the goals and rewards that its pages generate."""

import mimetypes
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Literal
from urllib.parse import unquote, urlsplit

import yaml
from msgspec import Struct
from playwright.sync_api import Browser, Error, Page, Route

from pytest_autoweb.base.errors import BrowserError, SettingsError, first_line, nearest
from pytest_autoweb.base.installation import asset_dir
from pytest_autoweb.tools.importing.written_cases import FILE_CHARS, named_parts, scalar, tidy
from pytest_autoweb.tools.record.oracle import in_template

Reward = Literal["positive", "full"]
Goals = Mapping[str, Mapping[int, str]]
"""The goal of each task at each seed."""

PACKAGE_FOLDER = "miniwob/html"
NOT_IN_BROWSERGYM = frozenset(
    {"button-delay", "chase-circle", "hover-shape", "moving-items", "simon-says"}
)
"""Pages that exist but are not among the 125 tasks that others report."""
MOST_CASES = 1000

_HOST = "http://miniwob.test"
_OPEN_MS = 30_000
_CHECKS: Mapping[Reward, tuple[str, str]] = {
    "positive": ("raw > 0", "The page gave a reward."),
    "full": ("raw >= 0.999", "The page gave the full reward."),
}

_FILE = """\
{about}
version: 1

webserver:
  static: {static}

cases:
{cases}
vars:
  goals:
{goals}
"""
_CASE = """\
  - id: {name}
    matrix:
      task: [{tasks}]
      seed: [{seeds}]
    entry_url: "{{{{ webserver.url }}}}miniwob/{{{{ matrix.task }}}}.html"
    user_task: "{{{{ vars.goals[matrix.task][matrix.seed] }}}}"
{how}
{oracle}    setup:
      js: |
{setup}
    expect:
      - js: "() => window.__autoweb?.done && window.__autoweb.{reward}"
        message: {message}
"""


class Wording(Struct, frozen=True):
    """The differences between files of MiniWoB cases, besides their tasks."""

    about: str
    """The comment at the top, without its marks."""
    how: str
    """Fields common to all cases, as written below `cases`."""
    name: str = "miniwob"
    """The prefix of ids."""
    static: str = PACKAGE_FOLDER
    reward: Reward = "positive"


def pages_folder(named: Path | None) -> Path:
    """Return the folder `html` of MiniWoB++: the named one, else the installed package's.

    Raises:
        SettingsError: there is none, or it holds no tasks.
    """
    if named is not None:
        folder = named
    else:
        spec = find_spec("miniwob")
        places = (spec.submodule_search_locations or ()) if spec else ()
        found = [Path(place) / "html" for place in places]
        if not found:
            raise SettingsError(
                "the pages of MiniWoB++ are missing: pip install 'pytest-autoweb[demo]' (package "
                "miniwob), or name their folder html with --pages"
            )
        folder = found[0]
    if not (folder / "core/core.js").is_file() or not (folder / "miniwob").is_dir():
        raise SettingsError(
            f"{folder} is not the html folder of MiniWoB++: it needs core/ and miniwob/"
        )
    return folder.resolve()


def chosen_tasks(folder: Path, wanted: Sequence[str]) -> list[str]:
    """Return the tasks to import: those requested, or the 125 that BrowserGym has.

    Raises:
        SettingsError: a task does not exist.
    """
    pages = sorted(page.stem for page in (folder / "miniwob").glob("*.html"))
    if not wanted:
        return [page for page in pages if page not in NOT_IN_BROWSERGYM]
    for task in wanted:
        if task not in pages:
            near = nearest(task, pages)
            hint = f"; did you mean {near!r}?" if near else ""
            raise SettingsError(f"MiniWoB++ has no task {task!r} in {folder}{hint}")
    return list(dict.fromkeys(wanted))


def solutions() -> dict[str, str]:
    """Return the oracle of each task that has one."""
    text = (asset_dir("templates") / "miniwob" / "oracles.yaml").read_text("utf-8")
    loaded: dict[str, str] = yaml.safe_load(text)
    return loaded


def episode_script(seed: int | str) -> str:
    """Return the JavaScript that starts an episode and keeps its first reward."""
    script = (asset_dir("templates") / "miniwob" / "episode.js").read_text("utf-8")
    return script.replace("__SEED__", str(seed))


@contextmanager
def episode(browser: Browser, folder: Path, task: str, seed: int) -> Iterator[Page]:
    """Yield a page with the episode started, just as its case's set-up does.

    Raises:
        BrowserError: the episode cannot be started.
    """
    with browser.new_context(base_url=_HOST, locale="en-US") as context:
        context.route("**/*", lambda route: _serve(folder, route))
        page = context.new_page()
        try:
            page.goto(f"/miniwob/{task}.html", timeout=_OPEN_MS)
            page.evaluate(episode_script(seed))
        except Error as error:
            raise BrowserError(f"MiniWoB++ {task}, seed {seed}: {first_line(error)}") from None
        yield page


def _serve(folder: Path, route: Route) -> None:
    """Serve a file from the folder; everything else, including the network, is out of reach."""
    url = urlsplit(route.request.url)
    file = (folder / unquote(url.path).lstrip("/")).resolve()
    if f"{url.scheme}://{url.netloc}" != _HOST or not file.is_relative_to(folder):
        route.abort()
    elif not file.is_file():
        route.fulfill(status=404)
    else:
        kind = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
        # The pages do not declare this themselves.
        kind += "; charset=utf-8" if kind.startswith("text/") else ""
        route.fulfill(body=file.read_bytes(), content_type=kind)


def read_goals(
    browser: Browser,
    folder: Path,
    tasks: Sequence[str],
    seeds: Sequence[int],
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, dict[int, str]]:
    """Read the goal of every task at every seed, as its page words it.

    Raises:
        BrowserError: an episode cannot be started.
    """
    goals: dict[str, dict[int, str]] = {}
    for number, task in enumerate(tasks, start=1):
        for seed in seeds:
            with episode(browser, folder, task, seed) as page:
                # Some tasks give the fields of their goal along with its text.
                said = page.evaluate(
                    "() => { const it = core.getUtterance(); return String(it.utterance ?? it); }"
                )
            goals.setdefault(task, {})[seed] = tidy(said)
        say(f"[{number}/{len(tasks)}] {task}: {goals[task][seeds[0]]}")
    return goals


def case_file(goals: Goals, seeds: Sequence[int], wording: Wording) -> str:
    """Return the text of a case file for these goals."""
    known = solutions()
    with_oracle = [task for task in goals if task in known]
    without = [task for task in goals if task not in known]
    cases = [
        _cases(tasks, seeds, wording, solved=solved)
        for tasks, solved in ((with_oracle, True), (without, False))
        if tasks
    ]
    lines = [
        f"    {task}:\n" + "\n".join(f"      {seed}: {scalar(goal)}" for seed, goal in each.items())
        for task, each in goals.items()
    ]
    text = _FILE.format(
        about="\n".join(f"# {line}".rstrip() for line in wording.about.splitlines()),
        static=wording.static,
        cases="\n".join(cases),
        goals="\n".join(lines),
    )
    if not with_oracle:
        return text
    scripts = (
        f"    {task}: |\n" + textwrap.indent(in_template(known[task].rstrip()), " " * 6)
        for task in with_oracle
    )
    return text + "  oracles:\n" + "\n".join(scripts) + "\n"


def _cases(tasks: Sequence[str], seeds: Sequence[int], wording: Wording, *, solved: bool) -> str:
    reward, message = _CHECKS[wording.reward]
    listed = textwrap.fill(", ".join(tasks), 96, subsequent_indent=" " * 13, break_on_hyphens=False)
    return _CASE.format(
        name=wording.name,
        tasks=listed,
        seeds=", ".join(map(str, seeds)),
        how=wording.how,
        oracle='    oracle: "{{ vars.oracles[matrix.task] }}"\n' if solved else "",
        setup=textwrap.indent(episode_script("{{ matrix.seed }}").rstrip(), " " * 8),
        reward=reward,
        message=message,
    )


def case_files(
    folder: Path, goals: Goals, seeds: Sequence[int], reward: Reward, *, packaged: bool
) -> dict[str, str]:
    """Return the case files of an import by name, as many as the length limit requires."""
    wording = Wording(
        about=(
            "MiniWoB++, imported by `autoweb benchmark import miniwob`\n\n"
            "Every case is one task at one seed. Its page words the goal and gives the reward; a "
            "case passes\n"
            + (
                "when the first reward is positive, which is what BrowserGym counts as solved."
                if reward == "positive"
                else "when the first reward is the full one."
            )
        ),
        how="    tags: [miniwob]\n    timeout: 30",
        static=PACKAGE_FOLDER if packaged else scalar(str(folder)),
        reward=reward,
    )
    texts = [case_file(part, seeds, wording) for part in _parts(goals, len(seeds))]
    return named_parts("miniwob", texts)


def _parts(goals: Goals, seeds: int) -> list[Goals]:
    known = solutions()
    parts: list[dict[str, Mapping[int, str]]] = [{}]
    room = FILE_CHARS
    for task, by_seed in goals.items():
        chars = len(known.get(task, "")) + sum(len(goal) + 20 for goal in by_seed.values())
        if parts[-1] and (chars > room or (len(parts[-1]) + 1) * seeds > MOST_CASES):
            parts.append({})
            room = FILE_CHARS
        parts[-1][task] = by_seed
        room -= chars
    return list(parts)


def task_names(text: str) -> list[str]:
    """Return the names in a list separated by commas or spaces."""
    return [name for name in re.split(r"[,\s]+", text) if name]
