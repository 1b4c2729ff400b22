"""What the names of models tell before anything is loaded that could call them."""

from collections.abc import Iterable, Mapping

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.variant_names import PERSON
from pytest_autoweb.models.key_file import KEY_FILE, with_key_file
from pytest_autoweb.models.model_spec import ModelSpec, resolve_target
from pytest_autoweb.models.named_specs import load_project_specs
from pytest_autoweb.models.providers import problem_by_name
from pytest_autoweb.settings.run_settings import Settings


def uncallable(settings: Settings, environ: Mapping[str, str]) -> list[str]:
    """Return a line for each model that would be called live and lacks a provider or a key.

    Raises:
        SettingsError: the settings of a model, or the file `.env`, cannot be read.
    """
    if settings.preview:
        return []
    live = settings.models if settings.record_mode == "off" else settings.live
    specs = load_project_specs(settings.models, settings.rootdir, settings.models_file)
    called = [
        spec
        for name, spec in specs.items()
        if name in live and (spec.agent_name or settings.strategy) != PERSON
    ]
    environ = with_key_file(environ, settings.rootdir / KEY_FILE)
    found = [(spec.name, _problem(spec, environ)) for spec in called if spec.provider == "litellm"]
    return [f"{name}: {problem}" for name, problem in found if problem]


def _problem(spec: ModelSpec, environ: Mapping[str, str]) -> str:
    try:
        return problem_by_name(spec, resolve_target(spec, environ), environ) or ""
    except ModelError as error:
        return error.detail


def cannot_call(problems: Iterable[str]) -> str:
    """Return the sentence that refuses a session, with a line for each model."""
    return "these models cannot be called:\n  " + "\n  ".join(problems)
