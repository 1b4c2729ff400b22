"""Lists of tasks on live sites, as WebVoyager, Online-Mind2Web and REAL publish them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from msgspec import Struct

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.tools.importing.written_cases import (
    named_parts,
    parts_within,
    scalar,
    tidy,
    usable_id,
)

KNOWN_NAMES: Mapping[str, tuple[str, ...]] = {
    "task": ("task", "user_task", "ques", "confirmed_task", "goal", "intent", "instruction"),
    "url": ("url", "entry_url", "web", "start_url", "website.url", "website"),
    "id": ("id", "task_id"),
    "answer": (),
    "tags": (),
    "possible": ("possible",),
}
"""The names under which the parts of a task are looked up unless `--map` gives others."""

_FILE_BYTES = 64_000_000
_MOST_TASKS = 20_000
_MOST_MISTAKES = 10
_PER_FILE = 400
_RUBRIC = "What the task asks for was done, and what it asks to find out was answered rightly."


class ListedTask(NamedTuple):
    """One task of a list, bounded and checked."""

    id: str
    url: str
    task: str
    answer: str = ""
    """The answer that its authors give, if any."""
    tags: tuple[str, ...] = ()
    possible: bool = True
    """Whether it can be done; for some tasks the correct reply is that it cannot."""


class FieldMap(Struct, frozen=True):
    """The names of a task's parts; dots lead into nested objects."""

    paths: Mapping[str, tuple[str, ...]]

    @classmethod
    def read(cls, texts: Sequence[str]) -> "FieldMap":
        """Read `task=ques,url=website.url`; parts that are not named keep their known names.

        Raises:
            SettingsError: a pair is malformed, or names an unknown part.
        """
        paths = dict(KNOWN_NAMES)
        for pair in (pair for text in texts for pair in text.split(",") if pair.strip()):
            part, equals, path = (piece.strip() for piece in pair.partition("="))
            if not equals or not path or part not in KNOWN_NAMES:
                raise SettingsError(
                    f"--map {pair.strip()!r}: write PART=NAME with one of "
                    f"{', '.join(KNOWN_NAMES)}, such as task=ques,url=website.url"
                )
            paths[part] = (path,)
        return cls(paths)

    def find(self, entry: Mapping[str, Any], part: str) -> Any:
        for path in self.paths[part]:
            # A name may itself contain dots.
            if path in entry:
                return entry[path]
            value: Any = entry
            for name in path.split("."):
                value = value.get(name) if isinstance(value, Mapping) else None
            if value is not None and not isinstance(value, Mapping):
                return value
        return None


def read_tasks(path: Path, fields: FieldMap) -> list[ListedTask]:
    """Read JSON lines, one JSON list or object, or a folder of such files.

    Raises:
        SettingsError: it cannot be read, or some tasks cannot be used; the message names the first.
    """
    tasks: dict[str, tuple[str, ListedTask]] = {}
    mistakes: list[str] = []
    for number, (place, entry) in enumerate(_entries(path), start=1):
        if number > _MOST_TASKS:
            raise SettingsError(f"{path} has more than {_MOST_TASKS:,} tasks; split it")
        try:
            task = _task(entry, fields, f"{path.stem}-{number}")
            if task.id in tasks:
                raise ValueError(f"the id {task.id!r} is that of {tasks[task.id][0]} already")
            tasks[task.id] = (place, task)
        except ValueError as error:
            mistakes.append(f"{place}: {error}")
    if mistakes:
        more = len(mistakes) - _MOST_MISTAKES
        shown = mistakes[:_MOST_MISTAKES] + ([f"and {more} more"] if more > 0 else [])
        raise SettingsError("\n".join(shown))
    if not tasks:
        raise SettingsError(f"{path} holds no task")
    return [task for _, task in tasks.values()]


def _entries(path: Path) -> Iterator[tuple[str, Any]]:
    if path.is_dir():
        files = sorted(file for kind in ("*.json", "*.jsonl") for file in path.glob(kind))
        if not files:
            raise SettingsError(f"{path} holds no *.json or *.jsonl file")
        for file in files:
            yield from _entries(file)
        return
    try:
        if path.stat().st_size > _FILE_BYTES:
            raise SettingsError(f"{path} is larger than {_FILE_BYTES // 1_000_000} MB; split it")
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as UTF-8: {error}") from None
    if text.lstrip().startswith("["):
        listed = _parsed(text, str(path))
        for number, entry in enumerate(listed, start=1):
            yield f"{path}, entry {number}", entry
        return
    try:
        # Lists with one file per task spread the JSON over several lines.
        alone = json.loads(text)
    except (ValueError, RecursionError):
        pass
    else:
        yield f"{path}, line 1", alone
        return
    # JSON strings may contain other line separators, such as U+2028.
    for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        if line.strip():
            yield (place := f"{path}, line {number}"), _parsed(line, place)


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"{place}: is not JSON: {error}") from None


def _task(entry: Any, fields: FieldMap, unnamed: str) -> ListedTask:
    if not isinstance(entry, Mapping):
        raise ValueError("must be an object with the task's text and its url")
    task, url = (_text(entry, fields, part) for part in ("task", "url"))
    for part, text in (("task", task), ("url", url)):
        if not text:
            names = " or ".join(repr(name) for name in fields.paths[part])
            raise ValueError(f"has no text under {names}; name the field with --map {part}=NAME")
    if not re.fullmatch(r"https?://[^\s/?#]\S*", url) or not _has_host(url):
        raise ValueError(f"the url must start with http:// or https://, got {url[:80]!r}")
    tags = fields.find(entry, "tags")
    listed = tags if isinstance(tags, list) else [tags] if tags is not None else []
    return ListedTask(
        usable_id(_text(entry, fields, "id") or unnamed),
        url,
        task,
        _text(entry, fields, "answer"),
        tuple(dict.fromkeys(filter(None, map(_tag, listed)))),
        fields.find(entry, "possible") is not False,
    )


def _text(entry: Mapping[str, Any], fields: FieldMap, part: str) -> str:
    value = fields.find(entry, part)
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return tidy(str(value))
    return tidy(json.dumps(value, ensure_ascii=False)) if value else ""


def _has_host(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return bool(parts.hostname) and (parts.port or 0) >= 0
    except ValueError:
        return False


def _tag(value: Any) -> str:
    """Return a word that pytest accepts as a mark."""
    word = re.sub(r"[^a-z0-9_.-]+", "-", tidy(str(value)).lower()).strip("-._")[:40]
    return f"{word}-" if word in ("and", "or", "not") else word


def case_files(tasks: Sequence[ListedTask], stem: str, judge_model: str) -> dict[str, str]:
    """Return the case files for these tasks by name, as many as the length limit requires.

    Args:
        tasks: the tasks, from `read_tasks`.
        stem: the start of the file names.
        judge_model: the judge model that the cases name, if any.
    """
    cases = (_case(task, judge_model) for task in tasks)
    return named_parts(stem, [_HEAD + part for part in parts_within(cases, most=_PER_FILE)])


_HEAD = """\
# Imported by `autoweb benchmark import jsonl`. The sites are live, so what a task asks for may have
# changed.
#
# A model judges. Its opinion decides nothing until `autoweb run labels` has shown how far it
# agrees with people (docs/judge.md); until then the cases end as `ungraded`.
version: 1
cases:
"""


def _case(task: ListedTask, judge_model: str) -> str:
    rubric = _RUBRIC
    if task.answer:
        rubric += f" Its authors give this answer, other wordings are right as well: {task.answer}"
    judge = {"rubric": rubric, "answer": True} | ({"model": judge_model} if judge_model else {})
    lines = [
        f"  - id: {scalar(task.id)}",
        f"    entry_url: {scalar(task.url)}",
        f"    user_task: {scalar(task.task)}",
        *([f"    tags: {scalar(list(task.tags))}"] if task.tags else []),
        *(
            ["    expect:", f"      - judge: {scalar(judge)}"]
            if task.possible
            else ["    infeasible: true"]
        ),
    ]
    return "\n".join(lines) + "\n"
