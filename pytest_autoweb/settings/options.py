"""The options as pytest and its hooks see them, before all settings of a run are read."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.base.errors import SettingsError, nearest
from pytest_autoweb.base.values.flag_texts import flag
from pytest_autoweb.settings.run_settings import LATEST, OPTIONS, Settings, first_value

# Late imports: pytest, which has imported this module.

if TYPE_CHECKING:
    import pytest


def add_options(parser: "pytest.Parser") -> None:
    group = parser.getgroup("autoweb", "autoweb: which model can drive my web app?")
    for option in OPTIONS:
        if not option.prefix:
            continue
        extra: dict[str, Any] = {"nargs": "?", "const": option.bare} if option.bare else {}
        if option.repeatable:
            extra = {"action": "append"}
        default = f" Default: {option.default}." if option.default else ""
        group.addoption(
            option.flag,
            dest=option.dest,
            default=None,
            metavar=option.metavar,
            # argparse reads a percent sign as a placeholder.
            help=f"{option.help}{default} [ini: {option.dest}, env: {option.env}]".replace(
                "%", "%%"
            ),
            **extra,
        )
        parser.addini(option.dest, option.help, default=None)


def refuse_unknown_flags(parser: "pytest.Parser", args: Sequence[str]) -> None:
    """Refuse flags that look like ours and are not, with the nearest one.

    Raises:
        pytest.UsageError: a flag is unknown.
    """
    import pytest

    _, unknown = parser.parse_known_and_unknown_args(args)
    for argument in unknown:
        name = argument.partition("=")[0]
        if not name.startswith("--auto"):
            continue
        meant = nearest(name, [option.flag for option in OPTIONS])
        guess = f"did you mean {meant}?" if meant else "`pytest --help` lists them all"
        raise pytest.UsageError(f"unknown flag {name}; {guess}")


_NEED_MODELS = ("cases_file", "cases", "cluster", "controls", "preview", "resume", "shard")
_GATES = ("min_pass_rate", "max_cost", "compare_fail")


def report_folder(config: "pytest.Config", environ: Mapping[str, str]) -> Path:
    """Return the folder of the run, without reading the other settings."""
    resumed, _ = first_value(Settings.resume, config, environ)
    if resumed and resumed != LATEST:
        return config.rootpath / resumed
    return named_folder(config, environ, "report")


def is_resuming(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    return bool(first_value(Settings.resume, config, environ)[0])


def named_folder(config: "pytest.Config", environ: Mapping[str, str], name: str) -> Path:
    """Return the folder that one setting names, without reading the others."""
    option = next(option for option in OPTIONS if option.name == name)
    return config.rootpath / first_value(option, config, environ)[0]


def missing_models(config: "pytest.Config", environ: Mapping[str, str]) -> str:
    """Return the setting that requires models in a session that names none; empty if none does.

    Gates count only if the models are explicitly empty, as in `--autoweb-models=$UNSET`: without
    the flag they may be meant for tests that use the `autoweb` fixture.
    """
    empty = names_models(config, environ)
    asking = (*_NEED_MODELS, *_GATES) if empty else _NEED_MODELS
    # Every session without models gets here, so only the relevant settings are read.
    for option in (option for option in OPTIONS if option.name in asking):
        _, source = first_value(option, config, environ)
        if source == "flag" or (empty and source != "default"):
            return option.flag
    return ""


def is_watching(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether this process is to watch files; other settings are not read.

    Raises:
        SettingsError: the value is neither yes nor no.
    """
    text, _ = first_value(Settings.watch, config, environ)
    try:
        return flag(text)
    except ValueError as error:
        raise SettingsError(f"{Settings.watch.flag}: {error}") from None


def typed_gate(config: "pytest.Config") -> str:
    """Return a gate that the command line itself names, or an empty text.

    Those of `addopts` do not count: they also reach sessions that only run other tests.
    """
    typed = {str(argument).partition("=")[0] for argument in config.invocation_params.args}
    return next((o.flag for o in OPTIONS if o.name in _GATES and o.flag in typed), "")


def names_models(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether the command line or the environment sets the models, even to nothing."""
    return config.getoption(Settings.models.dest) is not None or Settings.models.env in environ


def is_on(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether models are named, so that case files become cells."""
    return bool(first_value(Settings.models, config, environ)[0].strip())
