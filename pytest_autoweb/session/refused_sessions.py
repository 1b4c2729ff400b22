"""Sessions that are refused with one sentence, since they could not do what they were asked for."""

import os
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.session.case_files import CASE_SUFFIXES, holds_cases
from pytest_autoweb.session.playwright_fixtures import (
    FIXTURE,
    lacks_playwright,
    needs_browser,
    uses_fixture,
)
from pytest_autoweb.settings.options import missing_models, names_models, typed_gate
from pytest_autoweb.settings.run_settings import read_settings

_KEY = "autoweb_refused"
_REFUSED: pytest.StashKey[str] = pytest.StashKey()
"""Why what xdist workers collected is a usage error."""
_UNREAD: pytest.StashKey[list[Path]] = pytest.StashKey()
"""Files that may hold cases, in a session that names no models."""


def usage_error(why: str) -> pytest.UsageError:
    """Return the error, which pytest prints as it is, although case files may be of others."""
    # Late, because its patterns take long to compile, and few sessions are refused.
    from pytest_autoweb.report.plain_stream import plain_text

    return pytest.UsageError(plain_text(why))


def refuse(config: pytest.Config, why: str) -> None:
    """End the session with a usage error, which a worker of xdist can only ask its controller for.

    Raises:
        pytest.UsageError: this is no worker.
    """
    if (output := getattr(config, "workeroutput", None)) is None:
        raise usage_error(why)
    output[_KEY] = why


def note_refusal(node: Any) -> None:
    """Remember what an xdist worker, which has just ended, could not refuse by itself."""
    if why := getattr(node, "workeroutput", {}).get(_KEY):
        node.config.stash[_REFUSED] = why


def refusal(config: pytest.Config) -> str:
    """Return why a worker's session was refused, or ""."""
    return config.stash.get(_REFUSED, "")


def refuse_without_models(config: pytest.Config) -> None:
    """Refuse to pass in silence over what can only be meant for cells."""
    asking = missing_models(config, os.environ)
    names = [argument.partition("::")[0] for argument in config.args]
    if not asking and (files := [name for name in names if name.endswith(CASE_SUFFIXES)]):
        folder = config.invocation_params.dir
        asking = ", ".join(name for name in files if holds_cases(folder / name))
    if asking:
        raise usage_error(_needs_models(asking))


def refuse_unknown_models(config: pytest.Config) -> None:
    """Refuse models without a provider or a key, before anything that runs cells is loaded.

    What names alone do not tell is found later, by the gateway. So is everything if the user's own
    code may answer for a model.

    Raises:
        pytest.UsageError: a model cannot be called.
    """
    if hasattr(config, "workerinput") or config.option.collectonly or config.option.help:
        return
    if config.hook.pytest_autoweb_client.get_hookimpls():
        return
    # Late, because most sessions of the projects that install this package name no models.
    from pytest_autoweb.session.named_models import cannot_call, uncallable

    try:
        bad = uncallable(read_settings(config, os.environ), os.environ)
    except SettingsError:
        return  # Variants of the user's own are not known yet; whatever it is, it is said later.
    if bad:
        raise usage_error(cannot_call(bad))


def note_unread(config: pytest.Config, path: Path) -> None:
    """Remember a file that may hold cases, which a session without models leaves alone."""
    config.stash.setdefault(_UNREAD, []).append(path)


def refuse_unread_cases(session: pytest.Session) -> None:
    """Refuse to end as if nothing were there, where a named folder holds cases alone.

    Without a name it is refused only if the models are expressly empty.
    """
    config = session.config
    named = config.args_source is pytest.Config.ArgsSource.ARGS
    if session.testsfailed or not (named or names_models(config, os.environ)):
        return
    # On its way to a folder pytest also looks at the files beside it.
    base = config.invocation_params.dir
    names = (str(argument).partition("::")[0] for argument in config.args)
    asked = [(base / name).resolve() for name in names]
    unread = (path.resolve() for path in config.stash.get(_UNREAD, ()) if path.suffix != ".json")
    files = (path for path in unread if any(path.is_relative_to(place) for place in asked))
    if case_file := next(filter(holds_cases, files), None):
        refuse(config, _needs_models(os.path.relpath(case_file, base)))


def _needs_models(asking: str) -> str:
    return (
        f"{asking} needs --autoweb-models, which is not set or empty: name models, separated "
        "by commas; for the controls alone they are builtin/oracle,builtin/noop"
    )


def refuse_without_playwright(session: pytest.Session) -> None:
    """Refuse once where the fixtures that cells need are switched off, or another plugin's."""
    item = next(filter(needs_browser, session.items), None)
    if item is None or session.config.option.collectonly:
        return
    if why := lacks_playwright(item):
        # A worker's session cannot be ended from here, so it is left nothing to run.
        session.items.clear()
        refuse(session.config, why)


def refuse_gates_alone(session: pytest.Session) -> None:
    """Refuse gates in a session that has nothing which they could judge."""
    config = session.config
    typed = any(str(arg).startswith("--autoweb-") for arg in config.invocation_params.args)
    if not typed or any(map(uses_fixture, session.items)) or session.testsfailed:
        return
    if gate := typed_gate(config):
        refuse(
            config,
            f"{gate} has nothing to judge: --autoweb-models names no models, and no selected test "
            f"uses the fixture `{FIXTURE}`",
        )
