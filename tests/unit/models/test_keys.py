import json
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.base.redaction import MASK, KeyMask, tidy_secrets, without_secrets
from pytest_autoweb.models.litellm_client import LiteLLMClient
from pytest_autoweb.models.model_spec import Endpoint, ModelSpec, resolve_target
from pytest_autoweb.models.named_specs import load_specs
from pytest_autoweb.settings.run_settings import OPTIONS


@pytest.mark.parametrize(
    "key",
    [
        "sk-abcdefghijklmnop1234567890",
        "sk-ant-api03-abcdefghijklmnop_1234",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "gsk_abcdefghijklmnop1234567890",
        "hf_abcdefghijklmnop1234567890",
        "ghp_abcdefghijklmnopqrst1234567890",
        "AKIAABCDEFGHIJKLMNOP",
    ],
)
def test_what_looks_like_a_key_is_masked_without_being_known(key: str) -> None:
    masked = KeyMask({})(f'Incorrect API key provided: "{key}".')

    assert masked == f'Incorrect API key provided: "{MASK}".'


def test_a_bearer_header_is_masked() -> None:
    assert "s3cr3t" not in KeyMask({})("Authorization: Bearer s3cr3t-t0ken.value")


@given(st.text(st.characters(codec="utf-8"), min_size=8), st.text(), st.text())
@pytest.mark.long
def test_no_value_of_a_key_variable_survives(secret: str, before: str, after: str) -> None:
    mask = KeyMask({"MY_API_KEY": secret, "PATH": "/bin"})

    assert secret not in mask(before + secret + after) or secret in MASK


def test_a_secret_that_contains_another_goes_as_a_whole() -> None:
    mask = KeyMask({"A_TOKEN": "abcdefgh", "B_TOKEN": "abcdefgh-and-more"})

    assert mask("x abcdefgh-and-more y") == f"x {MASK} y"


@pytest.mark.parametrize("written", [repr, json.dumps, lambda key: repr(key.encode()), str.strip])
@pytest.mark.parametrize(
    "key", ["correct horse\n", "\ufeffcorrect horse\r\n", "cor\"rect\\ 'horse", "corr\nect horse"]
)
def test_a_key_is_masked_as_a_library_quotes_it(key: str, written: Callable[[str], str]) -> None:
    said = KeyMask({"LLM_KEY": key})(f"Invalid header value {written(f'Bearer {key}')}")

    assert not re.search("cor|rect|horse", said)


def test_what_stands_around_a_key_is_dropped() -> None:
    environ = {"A_KEY": "\ufeff one \r\n", "B_TOKEN": "\ufeff\n", "GREETING": " hi\n"}

    tidy_secrets(environ)

    assert environ == {"A_KEY": "one", "GREETING": " hi\n"}


@pytest.mark.parametrize("key", ["one\ntwo", "one\rtwo", "schl\u00fcssel", "one\u200btwo", "a\tb"])
def test_a_key_that_no_header_can_carry_is_one_sentence_without_it(key: str) -> None:
    spec = ModelSpec(name="openai/m", api_base="http://127.0.0.1:9/v1", api_key_env="LLM_LOGIN")

    with pytest.raises(ModelError) as caught:
        resolve_target(spec, {"LLM_LOGIN": key})

    assert caught.value.cause == "auth"
    assert re.fullmatch(
        "the value of the environment variable LLM_LOGIN holds .*; set it to the key alone",
        caught.value.detail,
    )


def test_short_values_and_other_variables_are_left_alone() -> None:
    mask = KeyMask({"CI_TOKEN": "true", "GREETING": "hello world"})

    assert mask("true: hello world") == "true: hello world"


def test_processes_that_need_no_keys_get_none() -> None:
    environ = {"OPENAI_API_KEY": "x", "SHOP_PASSWORD": "y", "HOME": "h", "KEYBOARD": "us"}

    assert without_secrets(environ) == {"HOME": "h", "KEYBOARD": "us"}


def test_an_empty_key_variable_counts_as_unset() -> None:
    environ = {"OPENAI_API_KEY": " ", "OTHER_API_KEY": "x", "EMPTY": ""}

    tidy_secrets(environ)

    assert environ == {"OTHER_API_KEY": "x", "EMPTY": ""}


AWS_ALONE = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE or AWS_BEARER"
AT_AZURE = {"api_base": "http://127.0.0.1:9"}
SERVICES: dict[str, tuple[str, dict[str, str], str]] = {
    "nothing set": (
        "azure/mine",
        {},
        "set AZURE_API_BASE and AZURE_API_VERSION and AZURE_API_KEY in the environment",
    ),
    "all but one": (
        "azure/mine",
        {"AZURE_API_BASE": "http://127.0.0.1:9", "AZURE_API_VERSION": "v1"},
        "set AZURE_API_KEY in the environment",
    ),
    "an address of Azure alone": ("azure/mine", AT_AZURE, "azure: set AZURE_API_KEY in the env"),
    "a login of Azure": ("azure/mine", {**AT_AZURE, "AZURE_AD_TOKEN": "t"}, ""),
    "one of two": ("gemini/any", {}, "set GOOGLE_API_KEY or GEMINI_API_KEY in the environment"),
    "no role": ("bedrock/any.model-v1:0", {"FOUND": ""}, AWS_ALONE),
    "a role of the machine": ("bedrock/any.model-v1:0", {"FOUND": "yes"}, ""),
    "a token": ("bedrock/any.model-v1:0", {"AWS_BEARER_TOKEN_BEDROCK": "t", "FOUND": ""}, ""),
    "no google-auth": (
        "vertex_ai/gemini-any",
        {"VERTEXAI_PROJECT": "p"},
        "needs google-auth: pip install 'google-auth[requests]'",
    ),
    "no boto3": ("bedrock/any.model-v1:0", {}, "provider bedrock needs boto3: pip install boto3"),
}


# The first of these imports litellm, which takes seconds.
@pytest.mark.long
@pytest.mark.parametrize("what", SERVICES)
def test_a_check_names_what_a_service_needs_and_only_that(
    monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    model, environ, problem = SERVICES[what]
    for name in [name for name in os.environ if name.startswith(("AWS", "AZURE", "GOO", "GEM"))]:
        monkeypatch.delenv(name)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)

    def found(_aws: object) -> str | None:
        """What litellm gets from boto3, which would ask the network."""
        if "FOUND" not in environ:
            raise ImportError
        return environ["FOUND"] or None

    # By its name: litellm takes seconds to import, and asks the network unless told not to.
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    monkeypatch.setattr("litellm.llms.bedrock.base_aws_llm.BaseAWSLLM.get_credentials", found)
    monkeypatch.setitem(sys.modules, "google.auth", None)

    target = Endpoint(model, api_base=environ.get("api_base"))
    told = LiteLLMClient().provider_problem(ModelSpec(name=model), target)

    assert told is None if not problem else told is not None and problem in told


MODELS_PAGE = Path(__file__).parents[3] / "docs" / "models.md"
SECTIONS = dict(
    re.findall(
        r"^### (.+?)\n(.*?)(?=^##)",
        MODELS_PAGE.read_text(encoding="utf-8").partition("\n## Examples\n")[2],
        re.MULTILINE | re.DOTALL,
    )[:9]
)
SERVERS = {"Ollama": "ollama pull", "vLLM": "vllm serve"}
"""What is started or fetched in place of a key."""


@pytest.mark.parametrize("name", SECTIONS)
def test_an_example_of_the_documentation_is_whole_and_can_be_pasted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```(\w+)\n(.*?)```", SECTIONS[name], re.DOTALL)
    lines = [
        shlex.split(line.removeprefix("$ "), comments=True)
        for kind, text in blocks
        for line in text.splitlines()
        if kind == "console"
    ]
    settings = "".join(text for kind, text in blocks if kind == "toml")
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    for variable in [one for one in os.environ if one.startswith(("AWS", "AZURE", "GOO", "GEM"))]:
        monkeypatch.delenv(variable)
    for pair in [pair for line in lines if line[0] == "export" for pair in line[1:]]:
        monkeypatch.setenv(*pair.split("=", 1))
    (installed,) = (line for line in lines if line[:2] == ["pip", "install"])
    *_, last = (line for line in lines if line[0] == "pytest")
    given = dict(word.removeprefix("--autoweb-").split("=") for word in last[2:])

    specs = load_specs(given["models"].split(","), pyproject=tmp_path / "pyproject.toml")

    assert given.keys() <= {option.name.replace("_", "-") for option in OPTIONS}
    # Each table is that of a model in the command.
    tables = tomllib.loads(settings).get("tool", {}).get("autoweb", {}).get("models", {})
    assert tables.keys() <= {one.partition("@")[0] for one in specs}
    keys = [line for line in lines if line[0] == "export"]
    assert keys or " ".join(SERVERS[name].split()) in SECTIONS[name]
    for spec in specs.values():
        problem = LiteLLMClient().provider_problem(spec, resolve_target(spec, os.environ))
        # What is missing here may be installed by the example.
        assert problem is None or problem.split("pip install ")[1].strip("'") in installed


def test_every_large_provider_has_its_example() -> None:
    wanted = "OpenAI Anthropic Gemini OpenRouter Azure Bedrock Vertex-AI Ollama vLLM"

    assert [name.replace(" ", "-") for name in SECTIONS] == wanted.split()
