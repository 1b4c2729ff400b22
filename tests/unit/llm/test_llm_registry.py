import json
from pathlib import Path

import pytest

from pytest_autoweb.errors import SettingsError
from pytest_autoweb.llm.model_spec import BUILTINS, load_specs


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_a_name_alone_is_enough_for_a_hosted_model() -> None:
    spec = load_specs(["openai/gpt-5-mini"])["openai/gpt-5-mini"]

    assert (spec.provider, spec.litellm_model, spec.dialect) == (
        "litellm",
        "openai/gpt-5-mini",
        "playwright",
    )


@pytest.mark.parametrize("name", BUILTINS)
def test_the_controls_are_known(name: str) -> None:
    assert load_specs([name])[name].provider == "builtin"


def test_embedded_models_come_with_their_settings() -> None:
    spec = load_specs(["local/qwen2.5-coder-0.5b"])["local/qwen2.5-coder-0.5b"]

    assert (spec.provider, spec.dialect, spec.constrained) == ("local", "refs", "gbnf")
    assert (spec.context_tokens, spec.max_tokens, spec.seed) == (8192, 768, 1)
    assert (spec.input_cost_per_mtok, spec.output_cost_per_mtok) == (0, 0)


def test_specs_come_in_the_order_of_the_names_and_once_each() -> None:
    names = ["openai/b", "openai/a", "openai/b"]

    assert list(load_specs(names)) == ["openai/b", "openai/a"]


def test_pyproject_sets_values(tmp_path: Path) -> None:
    pyproject = write(
        tmp_path / "pyproject.toml",
        '[tool.autoweb.models."openai/mine"]\napi_base = "http://127.0.0.1:1/v1"\nseed = 3\n',
    )

    spec = load_specs(["openai/mine"], pyproject=pyproject)["openai/mine"]

    assert (spec.api_base, spec.seed) == ("http://127.0.0.1:1/v1", 3)


@pytest.mark.parametrize("wrapped", [True, False], ids=["under models", "plain mapping"])
@pytest.mark.parametrize("suffix", [".yaml", ".json"])
def test_the_models_file_wins_over_pyproject_key_by_key(
    tmp_path: Path, wrapped: bool, suffix: str
) -> None:
    pyproject = write(
        tmp_path / "pyproject.toml", '[tool.autoweb.models."m/x"]\nseed = 3\nmax_tokens = 9\n'
    )
    table = {"m/x": {"seed": 4}}
    # JSON is YAML, so one text serves both suffixes.
    models = write(
        tmp_path / f"models{suffix}", json.dumps({"models": table} if wrapped else table)
    )

    spec = load_specs(["m/x"], pyproject=pyproject, models_file=models)["m/x"]

    assert (spec.seed, spec.max_tokens) == (4, 9)


def test_an_alias_has_the_defaults_of_the_embedded_model_behind_it(tmp_path: Path) -> None:
    models = write(
        tmp_path / "models.yaml",
        "qwen-playwright: {model: local/qwen2.5-coder-1.5b, dialect: playwright}\n",
    )

    spec = load_specs(["qwen-playwright"], models_file=models)["qwen-playwright"]

    assert (spec.name, spec.provider, spec.dialect) == ("qwen-playwright", "local", "playwright")
    assert spec.constrained == "gbnf"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("builtin/oracel", "did you mean 'builtin/oracle'"),
        ("local/smollm2", "did you mean 'smollm2-135m'"),
        ("local/nothing-like-it", "allowed: smollm2-135m, qwen2.5-coder-0.5b"),
        ("openai/", "not a model name"),
        (" ", "not a model name"),
    ],
)
def test_names_that_cannot_exist_are_refused(name: str, says: str) -> None:
    with pytest.raises(SettingsError, match=says.replace(".", r"\.")):
        load_specs([name])


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("m/x: {temprature: 1}", r"m/x: unknown setting 'temprature'; did you mean 'temperature'"),
        ("m/x: {max_tokens: many}", "model 'm/x': max_tokens: "),
        ("m/x: {max_tokens: 0}", "model 'm/x': max_tokens: .*greater than 0"),
        ("m/x: {name: other}", "unknown setting 'name'"),
        ("m/x: 3", "m/x: expected a mapping of settings"),
        ("[a]", "expected a mapping from model name"),
        ("a: [", "cannot be read"),
    ],
)
def test_wrong_settings_are_refused_with_their_place(tmp_path: Path, text: str, says: str) -> None:
    models = write(tmp_path / "models.yaml", text)

    with pytest.raises(SettingsError, match=says):
        load_specs(["m/x"], models_file=models)


def test_a_models_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.yaml"):
        load_specs(["m/x"], models_file=tmp_path / "gone.yaml")


def test_a_broken_pyproject_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="not valid TOML"):
        load_specs(["m/x"], pyproject=write(tmp_path / "pyproject.toml", "a = ["))


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("openai/gpt-5-mini", True),
        ("anthropic/claude-opus-4-8", True),
        ("vertex_ai/claude-3-5-sonnet@20240620", True),
        ("ollama_chat/qwen3:8b", False),
        ("ollama_chat/qwen3:32b", True),
        ("together_ai/mistralai/Mixtral-8x7B-Instruct-v0.1", False),
        ("groq/llama-3.3-70b-versatile", True),
        ("openai/qwen2.5-coder-1.5b-instruct", False),
        ("local/qwen2.5-coder-1.5b", False),
        ("builtin/oracle", False),
        ("ollama_chat/qwen3:8b@turns", True),
        ("openai/gpt-5-mini@once", False),
    ],
)
def test_a_model_writes_at_once_if_its_name_says_that_it_is_small(name: str, turns: bool) -> None:
    assert load_specs([name])[name].takes_turns is turns


def test_a_way_behind_a_name_keeps_the_settings_of_the_name(tmp_path: Path) -> None:
    text = "a: {model: openai/x, seed: 3, codegen: once}\nb@turns: {model: openai/y}\n"
    file = write(tmp_path / "models.yaml", text)

    specs = load_specs(["a", "a@turns", "b@turns"], models_file=file)

    assert [specs[name].litellm_model for name in specs] == ["openai/x", "openai/x", "openai/y"]
    assert [specs[name].takes_turns for name in specs] == [False, True, True]
    assert specs["a@turns"].seed == 3


def test_a_model_of_the_dialect_refs_takes_no_way() -> None:
    with pytest.raises(SettingsError, match="has turns of its own; name it without @once"):
        load_specs(["local/qwen2.5-coder-1.5b@once"])
