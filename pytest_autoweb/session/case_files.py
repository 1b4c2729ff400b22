"""Which files of a session are read as cases."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_autoweb.settings.run_settings import Settings

CASE_SUFFIXES = (".yaml", ".yml", ".json")
_HEAD_CHARS = 20_000
_CASES = re.compile(r"""^[\s{]*["']?cases["']?\s*:""", re.MULTILINE)
_BEHIND_ANOTHER = re.compile(r"""[{,]\s*["']?cases["']?\s*:""")


def is_case_file(path: Path, session: pytest.Session, settings: "Settings") -> bool:
    """Tell whether a file is read as cases.

    This holds if it is named on the command line, matches a pattern of `--autoweb-files`, or lies
    in a folder named on the command line, which may be the rootdir. Files in subfolders are read
    only if they hold cases, because data and cassettes live there as well.
    """
    if session.isinitpath(path):
        return True
    root = session.config.rootpath
    if path.suffix == ".json" or path.is_relative_to(root / settings.cassettes):
        return False
    relative = path.relative_to(root) if path.is_relative_to(root) else None
    if relative and any(relative.match(glob) for glob in settings.files if "**" not in glob):
        return True
    deep = relative is not None and any(_matches_below(relative, glob) for glob in settings.files)
    return (deep or _in_named_folder(path, session.config)) and holds_cases(path)


def holds_cases(path: Path) -> bool:
    """Tell whether a YAML or JSON file has `cases` at its top level, valid or not."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            head = file.read(_HEAD_CHARS)
    except OSError:
        return False
    if _CASES.search(head):
        return True
    return bool(_BEHIND_ANOTHER.search(head)) and "cases" in _top_level_keys(head)


def _top_level_keys(head: str) -> Iterator[str]:
    """Yield the keys of a mapping whose end may be missing, in whatever style; a list has none."""
    # Late, because few sessions come upon such a file.
    import yaml

    depth = nodes = 0
    with suppress(yaml.YAMLError):
        for event in yaml.parse(head):
            if depth == 0 and isinstance(event, yaml.SequenceStartEvent):
                return
            if isinstance(event, yaml.CollectionEndEvent):
                depth -= 1
            elif isinstance(event, yaml.NodeEvent):
                if depth == 1:
                    # Keys and values take turns.
                    if nodes % 2 == 0 and isinstance(event, yaml.ScalarEvent):
                        yield event.value
                    nodes += 1
                depth += isinstance(event, yaml.CollectionStartEvent)


def _matches_below(relative: Path, glob: str) -> bool:
    """Match a pattern with `**/`, which `PurePath.match` reads as one folder before 3.13."""
    prefix, deep, rest = glob.partition("**/")
    if not deep or not relative.match(rest):
        return False
    return not prefix or any(parent.match(prefix) for parent in relative.parents[:-1])


def _in_named_folder(path: Path, config: pytest.Config) -> bool:
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return False
    named = (config.invocation_params.dir / argument.partition("::")[0] for argument in config.args)
    return any(folder.resolve() in path.resolve().parents for folder in named if folder.is_dir())
