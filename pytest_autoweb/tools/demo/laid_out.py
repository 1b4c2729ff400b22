"""The demo's shop, cases and recordings in a folder of the user, and the session that runs them."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import entry_points
from pathlib import Path
from typing import NamedTuple

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.installation import asset_dir

_CASES = "shop.yaml"
_INI = """\
# `autoweb demo` runs `pytest shop.yaml` in this folder. Other models take the same tasks:
#   pytest shop.yaml --autoweb-models=builtin/oracle,openai/gpt-5-mini
[pytest]
autoweb_models_file = models.yaml
"""
_PLUGINS = ("base_url", "playwright", "xdist", "autoweb")
"""What cells need of pytest's plugins; older versions of pytest-playwright need the first."""
_KEPT = ("AUTOWEB_CHROMIUM",)
_SECONDS = 60
"""What the steps of an attempt get, and each step: as much as the busiest machine needs. With too
little, a step ends at an earlier line than when it was recorded, and no reply is recorded for that.
"""


class Recorded(NamedTuple):
    """What the cassettes of a model say about it."""

    model: str
    quantisation: str
    server: str
    date: str
    """The day of its last recording."""


def recorded_models() -> tuple[Recorded, ...]:
    """Return the models whose replies are replayed, by name from last to first.

    Their names end in their sizes, so that the larger one comes first.
    """
    found = []
    for folder in (_files() / "cassettes").iterdir():
        every = [json.loads(file.read_bytes()) for file in sorted(folder.glob("*.json"))]
        last = max(every, key=lambda cassette: str(cassette["recorded"]))
        found.append(
            Recorded(last["model"], last["quantisation"], last["server"], last["recorded"])
        )
    return tuple(sorted(found, reverse=True))


def lay_out(folder: Path) -> None:
    """Copy the shop, its cases and the recordings into a folder, and overwrite nothing.

    Raises:
        SettingsError: the folder holds something else, or files of the demo that were changed.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder} is a file; name a folder: autoweb demo FOLDER")
    contents = dict(_contents())
    if folder.exists() and any(folder.iterdir()) and not (folder / _CASES).is_file():
        raise SettingsError(
            f"{folder} holds files that are not of the demo; name another folder: "
            "autoweb demo FOLDER"
        )
    for name, content in contents.items():
        file = folder / name
        if file.exists() and file.read_bytes() != content:
            raise SettingsError(
                f"{file} was changed, or is of another version; remove {folder}, or name another "
                "folder: autoweb demo FOLDER"
            )
    for name, content in contents.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.write_bytes(content)


def _contents() -> Iterator[tuple[str, bytes]]:
    """Yield the path of each file of the demo below its folder, and what it holds."""
    yield "pytest.ini", _INI.encode()
    root = _files()
    for file in sorted(root.rglob("*")):
        if file.suffix in (".py", ".yaml", ".json"):
            yield file.relative_to(root).as_posix(), file.read_bytes()


def _files() -> Path:
    return asset_dir("templates") / "demo"


def session_command(models: tuple[str, ...], report: Path) -> list[str]:
    """Return the session of pytest that replays the recordings.

    It is the command of any run; only plugins that other projects need are left out.
    """
    installed = {entry.name for entry in entry_points(group="pytest11")}
    plugins = (word for name in _PLUGINS if name in installed for word in ("-p", name))
    return [
        sys.executable, "-m", "pytest", _CASES, "-m", "not variation",
        *plugins, "-p", "no:cacheprovider", "--tb=no",
        # It looks for errors of code that is not ours by collecting garbage five times at the end.
        "-p", "no:unraisableexception",
        f"--autoweb-models={','.join(models)}",
        "--autoweb-models-file=models.yaml",
        "--autoweb-record-mode=replay",
        "--autoweb-dir=.",
        # Otherwise the first session after an installation rewrites every module of this package.
        "--assert=plain",
        "--autoweb-max-repairs=1",
        "--autoweb-concurrency=12",
        f"--autoweb-step-timeout={_SECONDS}",
        "--autoweb-check-timeout=0.5",
        f"--autoweb-report={report}",
    ]  # fmt: skip


def session_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the environment of the session: the user's, without what is meant for own runs."""
    own = {
        name: value
        for name, value in environ.items()
        if name in _KEPT or not name.startswith(("AUTOWEB_", "PYTEST_"))
    }
    return {**own, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "DEMO_SHOP_SECONDS": str(_SECONDS)}
