"""Agents with a variant, such as `codegen:once`, in names of models and in their settings."""

from pathlib import Path

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.models.named_specs import load_specs, written_in


@pytest.mark.parametrize(
    ("ending", "dialect", "way"),
    [("once", "playwright", "once"), ("turns", "playwright", "turns"), ("refs", "refs", "auto")],
)
@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "local/qwen2.5-coder-1.5b"])
def test_the_ending_of_a_name_says_how_it_writes(
    name: str, ending: str, dialect: str, way: str
) -> None:
    (spec,) = load_specs((f"{name}@codegen:{ending}",)).values()

    assert (spec.agent_name, spec.dialect, spec.codegen) == ("codegen", dialect, way)
    assert spec.litellm_model == name


def test_settings_name_a_variant_and_an_unknown_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("a: {agent: codegen:refs}\nb: {agent: codegen:reefs}\n")

    (spec,) = load_specs(("a",), models_file=file).values()
    assert (spec.agent_name, spec.dialect) == ("codegen", "refs")
    with pytest.raises(SettingsError, match="model 'b': unknown agent 'codegen:reefs'; did you"):
        load_specs(("b",), models_file=file)


def test_what_holds_for_all_models_leaves_their_own_settings_and_controls_alone(
    tmp_path: Path,
) -> None:
    file = tmp_path / "models.yaml"
    file.write_text("own: {codegen: turns}\nplain: {dialect: playwright}\n")
    names = ("own", "plain", "openai/gpt-5-mini", "builtin/oracle")
    specs = load_specs(names, models_file=file)

    written = {name: written_in(spec, "refs").dialect for name, spec in specs.items()}
    assert written == {
        "own": "playwright",
        "plain": "playwright",
        "openai/gpt-5-mini": "refs",
        "builtin/oracle": "playwright",
    }
