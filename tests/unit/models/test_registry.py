import json
import re
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.models import model_facts
from pytest_autoweb.models.described_models import describe_model
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import BUILTINS, load_specs


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
        ("m/x: {context_tokens: many, reasoning: true}", "model 'm/x': context_tokens: "),
        ("m/x: {output_limit: none, reasoning: true}", "model 'm/x': output_limit: "),
        ("m/x: {context_tokens: 0, reasoning: true}", "'m/x': context_tokens: .*greater than 0"),
        ("m/x: {reasoning_effort: much}", "model 'm/x': reasoning_effort: "),
        ("m/x: {sources: {}}", "unknown setting 'sources'"),
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


# Entries as litellm's registry has them, which differs between versions.
STRONG = {
    "litellm_provider": "openai",
    "max_input_tokens": 272_000,
    "max_output_tokens": 128_000,
    "input_cost_per_token": 2.5e-07,
    "cache_read_input_token_cost": 2.5e-08,
    "output_cost_per_token": 2e-06,
    "supports_prompt_caching": True,
    "supports_reasoning": True,
    "supports_response_schema": True,
    "supports_vision": True,
    "supports_minimal_reasoning_effort": True,
    "supports_none_reasoning_effort": False,
}
TABLE = {
    "sample_spec": {"max_input_tokens": "max input tokens, if the provider specifies it"},
    "gpt-strong": STRONG,
    "gpt-plain": {"litellm_provider": "openai", "max_tokens": 4096, "max_input_tokens": 8192},
    "claude-strong-4-8": {
        **STRONG,
        "litellm_provider": "anthropic",
        "supports_sampling_params": False,
        "supports_max_reasoning_effort": True,
        "supports_none_reasoning_effort": None,
    },
    "claude-calm": {**STRONG, "litellm_provider": "anthropic"},
    "us.anthropic.claude-calm": {**STRONG, "litellm_provider": "bedrock_converse"},
    "gemini/gemini-3-strong": {**STRONG, "litellm_provider": "gemini"},
    "friend/levels": {
        "litellm_provider": "friend",
        "reasoning_effort_levels": ["low", "max"],
        "max_output_tokens": 1000,
    },
    "ollama/llama3": {**STRONG, "litellm_provider": "ollama"},
}


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model_prices_and_context_window_backup.json"
    file.write_text(json.dumps(TABLE), encoding="utf-8")
    monkeypatch.setattr(model_facts, "installed_litellm", lambda: tmp_path)


def spec_of(name: str, tmp_path: Path, **table: object) -> ModelSpec:
    behind = name.partition("@")[0]
    models = write(tmp_path / "models.json", json.dumps({behind: table}))
    return load_specs([name], models_file=models)[name]


@pytest.mark.usefixtures("registry")
def test_what_nobody_has_set_comes_from_the_registry(tmp_path: Path) -> None:
    spec = spec_of("openai/gpt-strong", tmp_path)

    assert (spec.context_tokens, spec.max_tokens, spec.output_limit) == (272_000, 16_384, 128_000)
    assert (spec.vision, spec.reasoning, spec.constrained) == (True, True, "json_schema")
    assert (spec.temperature, spec.refuses) == (None, ("temperature",))
    assert spec.shown_tokens == 65_536


@pytest.mark.usefixtures("registry")
def test_what_somebody_has_set_goes_before_the_registry(tmp_path: Path) -> None:
    own = {"context_tokens": 9000, "vision": False, "temperature": 0.5, "constrained": "none"}

    spec = spec_of("openai/gpt-strong", tmp_path, **own)

    assert (spec.context_tokens, spec.vision, spec.temperature, spec.constrained) == (
        9000,
        False,
        0.5,
        "none",
    )
    assert (spec.refuses, spec.max_tokens) == ((), 9000 // 4)
    assert spec_of("openai/gpt-strong", tmp_path, max_tokens=70).max_tokens == 70


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        # name, temperature, marked for the cache, limit of a reply
        ("openai/gpt-plain", (0.0, False, 2048)),
        ("gpt-strong", (None, False, 16_384)),
        ("litellm_proxy/gpt-strong", (0.0, False, 16_384)),
        ("anthropic/claude-strong-4-8", (None, True, 16_384)),
        ("anthropic/claude-calm", (0.0, True, 16_384)),
        ("anthropic/claude-calm@low", (None, True, 16_384)),
        ("anthropic/claude-calm@high", (None, True, 32_768)),
        ("anthropic/claude-calm@none", (0.0, True, 8192)),
        ("bedrock/us.anthropic.claude-calm", (0.0, True, 16_384)),
        ("openrouter/anthropic/claude-strong-4.8:beta", (None, True, 16_384)),
        ("gemini/gemini-3-strong", (None, False, 16_384)),
        ("friend/levels", (0.0, False, 1000)),
        ("ollama/llama3", (0.0, False, 2048)),
        ("openai/of-my-own", (0.0, False, 2048)),
        ("openai/of-my-own@high", (None, False, 8192)),
    ],
)
def test_each_service_is_asked_as_it_wants(
    tmp_path: Path, name: str, facts: tuple[float | None, bool, int]
) -> None:
    table = {"reasoning": True} if name.endswith("calm@none") else {}

    spec = spec_of(name, tmp_path, **table)

    assert (spec.temperature, spec.prompt_caching, spec.max_tokens) == facts


def test_without_litellm_models_have_the_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_facts, "installed_litellm", lambda: None)

    spec = load_specs(["openai/gpt-5-mini"])["openai/gpt-5-mini"]

    assert (spec.context_tokens, spec.max_tokens, spec.vision) == (32_768, 2048, False)
    assert (spec.temperature, spec.constrained, spec.reasoning) == (0.0, "none", None)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("name", "effort", "codegen", "timeout"),
    [
        ("openai/gpt-strong@minimal", "minimal", "auto", 180),
        ("openai/gpt-strong@high", "high", "auto", 600),
        ("openai/gpt-strong@high@once", "high", "once", 600),
        ("openai/gpt-strong@turns@low", "low", "turns", 180),
        ("anthropic/claude-strong-4-8@max", "max", "auto", 600),
        ("friend/levels@max", "max", "auto", 600),
        ("openai/of-my-own@xhigh", "xhigh", "auto", 600),
        ("vertex_ai/claude-3-5-sonnet@20240620", None, "auto", 180),
    ],
)
def test_a_name_may_end_in_an_effort_and_a_way(
    tmp_path: Path, name: str, effort: str | None, codegen: str, timeout: float
) -> None:
    spec = spec_of(name, tmp_path)

    assert (spec.reasoning_effort, spec.codegen, spec.timeout) == (effort, codegen, timeout)
    assert spec.name == name
    assert spec.litellm_model == (name.partition("@")[0] if effort else name)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("openai/gpt-plain@high", "gpt-plain takes no reasoning effort 'high'; it has none"),
        ("openai/gpt-strong@none", "'none'; it takes minimal, low, medium, high .by litellm's"),
        ("friend/levels@high", "'high'; it takes low, max"),
        ("local/qwen2.5-coder-1.5b@high", "qwen2.5-coder-1.5b has no reasoning effort"),
    ],
)
def test_an_effort_that_a_model_does_not_have_is_refused(
    tmp_path: Path, name: str, says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        spec_of(name, tmp_path)


@pytest.mark.usefixtures("registry")
def test_a_registry_that_is_out_of_date_can_be_overruled(tmp_path: Path) -> None:
    spec = spec_of("openai/gpt-plain@high", tmp_path, reasoning=True)

    assert spec.reasoning_effort == "high"


@pytest.mark.usefixtures("registry")
def test_a_model_is_described_with_who_says_what(tmp_path: Path) -> None:
    spec = spec_of("openai/gpt-strong@high", tmp_path, context_tokens=100_000, seed=3)

    told = {row.name: (row.value, row.source) for row in describe_model(spec).settings}

    assert told == {
        "context": ("100,000 tokens", "settings"),
        "longest reply": ("25,000 tokens, and up to 128,000 if it is cut off", "registry"),
        "vision": ("yes", "registry"),
        "reasoning": ("yes; effort high; takes minimal, low, medium, high", "settings"),
        "structured replies": ("json_schema", "registry"),
        "prompt caching": ("by the service itself", "registry"),
        "temperature": ("left to the service", "registry"),
        "parameters it refuses": ("temperature", "registry"),
        "US dollars per million tokens": ("input 0.25, output 2, cached input 0.025", "registry"),
    }


@pytest.mark.usefixtures("registry")
def test_a_model_that_the_registry_does_not_know_is_described_by_the_defaults(
    tmp_path: Path,
) -> None:
    told = describe_model(spec_of("openai/of-my-own", tmp_path, input_cost_per_mtok=1)).settings

    assert {row.source for row in told if row.name != "US dollars per million tokens"} == {
        "default"
    }
    assert (told[-1].value, told[-1].source) == ("input 1", "settings")
    proxied = describe_model(spec_of("litellm_proxy/gpt-strong", tmp_path)).settings
    assert (proxied[0].source, proxied[-1].value) == ("registry", "unknown")


def test_the_examples_of_the_documentation_name_models_and_settings_that_exist(
    tmp_path: Path,
) -> None:
    page = (Path(__file__).parents[3] / "docs" / "models.md").read_text(encoding="utf-8")
    examples = page.partition("## Examples")[2].partition("\n## ")[0]
    tables = "\n".join(re.findall(r"```toml\n(.*?)```", examples, re.DOTALL))
    commands = re.findall(r"--autoweb-models=(\S+)", examples)
    pyproject = write(tmp_path / "pyproject.toml", tables)

    specs = load_specs([n for line in commands for n in line.split(",")], pyproject=pyproject)

    assert len(re.findall("^### ", examples, re.MULTILINE)) == len(commands) == 9
    assert specs["azure-mini@high"].litellm_model == "azure/gpt5_series/my-deployment"
    assert specs["qwen3-32b"].max_tokens == 8192
    assert specs["openai/gpt-5-mini@low"].reasoning_effort == "low"
