"""Which settings of a saved run, which may come from anyone, hold again when its cells are rerun.

Only those that decide how a cell ends, and cannot weaken a wall.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pytest_autoweb.results.runs.foreign_run import quoted
from pytest_autoweb.settings.run_settings import OF_OUTCOMES, OPTIONS

_REPLAYED = {"record_mode": "none", "traffic": "replay"}
"""Settings with the one value that cannot reach more than the default: only what was recorded."""
OF_RUNS = frozenset(
    ("models", "repeat", "controls", "report", "stdout", "shard", "blobs", "dir", "save",
     "autosave", "compare", "compare_fail", "store", "preview", "min_pass_rate", "min_score",
     "until", "local_analyze", "concurrency", "files", "cases_file", "mutants", "pause", "resume",
     "watch", "detach", "otel", "language", "report_max_chars", "baseline_days", "local_model")
)  # fmt: skip
"""Settings that are about a run and not about a cell."""
_STEPS = ("max_turns", "max_decisions")
_PLAIN = re.compile(r"[\w.,:/@+-]{1,200}", re.ASCII)


class TakenSettings(NamedTuple):
    """The settings of a saved run that were given to it by flags or the environment."""

    flags: tuple[str, ...]
    """The flags that hold again."""
    left: tuple[str, ...]
    """Those that do not, as they would be written on a command line."""


def taken_settings(settings: Mapping[str, Any], without: Collection[str]) -> TakenSettings:
    """Tell which settings of a saved run hold again; what ini files say does so by itself.

    Args:
        settings: each setting with its value and source, as the run recorded them.
        without: names of settings that are of no matter.
    """
    known = {option.recorded: option.flag for option in OPTIONS}
    if "max_steps" in settings:
        # It has set the others.
        without = {*without, *_STEPS}
    flags, left = [], []
    for name, setting in settings.items():
        text = _text_of(setting)
        if not text or name in without:
            continue
        flag = f"{known.get(name, f'--autoweb-{name}').replace('_', '-')}={text}"
        if name in known and _PLAIN.fullmatch(text) and _may_hold_again(name, text):
            flags.append(flag)
        else:
            left.append(quoted(flag))
    return TakenSettings(tuple(flags), tuple(left))


def _may_hold_again(name: str, text: str) -> bool:
    if name == "base_url":
        # Cases type their secrets into the site, so a stranger may not choose its host.
        return urlsplit(text).hostname in ("127.0.0.1", "localhost")
    return name in OF_OUTCOMES or _REPLAYED.get(name) == text


def _text_of(setting: Any) -> str:
    """Return the value of a setting that was given for the run, as text; empty if it was not."""
    if not isinstance(setting, dict) or setting.get("source") in ("default", "ini"):
        return ""
    value = setting.get("value")
    if value in (None, "", []):
        return ""
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return text.lower() if isinstance(value, bool) else text
