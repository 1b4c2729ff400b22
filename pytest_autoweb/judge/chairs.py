"""Who may judge: a model that is none of those compared."""

from collections.abc import Callable, Container, Sequence
from typing import NamedTuple

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.llm.client import Client
from pytest_autoweb.llm.prompts import prompt_checksum
from pytest_autoweb.llm.spec import ModelSpec

PROMPT = "judge"


class Chair(NamedTuple):
    """A model in the role of the judge."""

    spec: ModelSpec
    client: Client
    advisory: bool = True
    """Its agreement with people is not known, or not enough."""

    @property
    def id(self) -> str:
        """What a calibration holds for: the model and its prompt."""
        return judge_id(self.spec)


class Chairs:
    """Finds the judge that a check, or the run, names."""

    def __init__(
        self,
        spec_of: Callable[[str], ModelSpec],
        client_of: Callable[[str], Client],
        *,
        default: str = "",
        compared: Sequence[str] = (),
        calibrated: Container[str] = (),
    ) -> None:
        """Set the rules.

        Args:
            spec_of: settings of a model; raises SettingsError for unknown names.
            client_of: who answers for it.
            default: the model of checks that name none.
            compared: models that must not judge.
            calibrated: judges (`judge_id`) whose agreement with people was measured.
        """
        self._spec_of, self._client_of = spec_of, client_of
        self._default, self._compared, self._calibrated = default, compared, calibrated

    def named(self, name: str | None) -> ModelSpec:
        """The judge of that name, or the run's own.

        Raises:
            SettingsError: there is none, or it must not judge.
        """
        name = name or self._default
        if not name:
            raise SettingsError(
                "no model is named to judge; give the check a `model`, or --autoweb-judge-model"
            )
        spec = self._spec_of(name)
        if spec.provider == "builtin":
            raise SettingsError(f"{name} is a control and cannot judge")
        rivals = [m for m in self._compared if self._spec_of(m).litellm_model == spec.litellm_model]
        if rivals:
            raise SettingsError(
                f"the judge {name} is one of the models compared ({', '.join(rivals)}); a model "
                "must not judge itself or its rivals"
            )
        return spec

    def __call__(self, name: str | None) -> Chair:
        """The judge of that name, or the run's own, ready to be asked.

        Raises:
            SettingsError: as `named`.
        """
        spec = self.named(name)
        return Chair(spec, self._client_of(spec.name), judge_id(spec) not in self._calibrated)


def judge_id(spec: ModelSpec) -> str:
    """The model and its prompt in one line."""
    return f"{spec.litellm_model} (prompt {prompt_checksum(PROMPT)[:12]})"
