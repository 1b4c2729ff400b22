"""The options as pytest and its hooks see them, before all settings of a run are read."""

from argparse import SUPPRESS
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_autoweb.base.errors import SettingsError, nearest
from pytest_autoweb.base.values.flag_texts import flag
from pytest_autoweb.settings.merged_settings import PLACES, is_placed_by
from pytest_autoweb.settings.run_settings import LATEST, OPTIONS, Option, Settings, first_value

# Late imports: pytest, which has imported this module.

if TYPE_CHECKING:
    import pytest


GROUP = "autoweb: which model can drive my web app?"
"""The heading of the flags in `pytest --help`."""


def add_options(parser: "pytest.Parser") -> None:
    """Declare every setting under all its names; `pytest --help` lists the everyday ones."""
    group = parser.getgroup("autoweb", GROUP)
    for option in OPTIONS:
        if not option.prefix:
            continue
        extra: dict[str, Any] = {"nargs": "?", "const": option.bare} if option.bare else {}
        if option.repeatable:
            extra = {"action": "append"}
        for name in option.names:
            listed = option.everyday and name.name == option.name
            group.addoption(
                name.flag,
                dest=name.dest,
                default=None,
                metavar=option.metavar,
                # argparse reads a percent sign as a placeholder.
                help=help_of(option).replace("%", "%%") if listed else SUPPRESS,
                **extra,
            )
            parser.addini(name.dest, option.help, default=None)


def help_of(option: Option[Any]) -> str:
    """Return what an option means, its default, and its other two names."""
    default = f" Default: {option.default}." if option.default else ""
    return f"{option.help}{default} [ini: {option.dest}, env: {option.env}]"


def unlisted_keys() -> frozenset[str]:
    """Return the ini keys that `pytest --help` does not list."""
    names = ((option, name) for option in OPTIONS if option.prefix for name in option.names)
    listed = {option.dest for option in OPTIONS if option.everyday}
    return frozenset(name.dest for _, name in names) - listed


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


_NEED_MODELS = ("cases_file", "cases", "cluster", "controls", "preview", "resume", "shard", "until")
_GATES = ("min_pass_rate", "min_score", "max_cost", "compare_fail")


def report_folder(config: "pytest.Config", environ: Mapping[str, str]) -> Path:
    """Return the folder of the run, without reading the other settings."""
    resumed, _ = first_value(Settings.resume, config, environ)
    if resumed and resumed != LATEST:
        return config.rootpath / resumed
    return named_folder(config, environ, "report")


def is_resuming(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    return bool(first_value(Settings.resume, config, environ)[0])


def named_folder(config: "pytest.Config", environ: Mapping[str, str], name: str) -> Path:
    """Return the folder that one setting names, or `--autoweb-dir`, without reading the others."""
    option = next(option for option in OPTIONS if option.name == name)
    own, source = first_value(option, config, environ)
    common, source_of_common = first_value(Settings.dir, config, environ)
    if common and name in PLACES and is_placed_by(source_of_common, source):
        return config.rootpath / common / PLACES[name]
    return config.rootpath / own


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
    return _is_set(Settings.watch, config, environ)


def is_detaching(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether this process is to give the terminal back; other settings are not read.

    Raises:
        SettingsError: the value is neither yes nor no.
    """
    return _is_set(Settings.detach, config, environ)


def only_looks(config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    """Tell whether this session only shows what it would run; other settings are not read."""
    options = config.option
    if options.help or options.collectonly:
        return True
    try:
        return _is_set(Settings.preview, config, environ)
    except SettingsError:
        # It is told where all settings are read.
        return True


def _is_set(option: Option[bool], config: "pytest.Config", environ: Mapping[str, str]) -> bool:
    text, _ = first_value(option, config, environ)
    try:
        return flag(text)
    except ValueError as error:
        raise SettingsError(f"{option.flag}: {error}") from None


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
