"""Keys are known by their shape everywhere, and words are words."""

import random
import string

import pytest

from pytest_autoweb.base.redaction import MASK, REDACTED, KeyMask, redact_keys, redact_shapes

DIGITS, UPPER, HEX = string.digits, string.ascii_uppercase + string.digits, "0123456789abcdef"
_RANDOM = random.Random(3)


def r(count: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(_RANDOM.choice(alphabet) for _ in range(count))


KEYS = {
    "OpenAI": f"sk-proj-{r(48)}",
    "Anthropic": f"sk-ant-api03-{r(80)}",
    "OpenRouter": f"sk-or-v1-{r(64, HEX)}",
    "DeepSeek": f"sk-{r(32, HEX)}",
    "Groq": f"gsk_{r(52)}",
    "Google": f"AIza{r(35)}",
    "Hugging Face": f"hf_{r(34)}",
    "GitHub": f"ghp_{r(36)}",
    "GitHub, of a user": f"ghu_{r(36)}",
    "GitHub, refreshed": f"ghr_{r(76)}",
    "GitHub, fine-grained": f"github_pat_{r(22)}_{r(59)}",
    "GitLab": f"glpat-{r(20)}",
    "GitLab, of a runner": f"glrt-{r(20)}",
    "Slack": f"xoxb-{r(12, DIGITS)}-{r(12, DIGITS)}-{r(24)}",
    "Slack, of an app": f"xapp-1-{r(11, UPPER)}-{r(13, DIGITS)}-{r(64, HEX)}",
    "Slack, a webhook": f"https://hooks.slack.com/services/T{r(8, UPPER)}/B{r(8, UPPER)}/{r(24)}",
    "Stripe": f"sk_live_{r(24)}",
    "Stripe, restricted": f"rk_live_{r(24)}",
    "Stripe, a webhook": f"whsec_{r(32)}",
    "AWS": f"AKIA{r(16, UPPER)}",
    "AWS, for a while": f"ASIA{r(16, UPPER)}",
    "npm": f"npm_{r(36)}",
    "PyPI": f"pypi-AgEIcHlwaS5vcmc{r(150)}",
    "SendGrid": f"SG.{r(22)}.{r(43)}",
    "Twilio": f"SK{r(32, HEX)}",
    "Mailgun": f"key-{r(32, HEX)}",
    "DigitalOcean": f"dop_v1_{r(64, HEX)}",
    "Shopify": f"shpat_{r(32, HEX)}",
    "Square": f"EAAA{r(60)}",
    "Telegram": f"{r(10, DIGITS)}:AA{r(33)}",
    "Discord": f"{r(24)}.{r(6)}.{r(27)}",
    "JWT": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{r(43)}",
    "PEM": f"-----BEGIN RSA PRIVATE KEY-----\n{r(64)}\n{r(64)}\n-----END RSA PRIVATE KEY-----",
    "Google OAuth": f"GOCSPX-{r(28)}",
    "Google OAuth, of a user": f"ya29.{r(60)}",
    "Linear": f"lin_api_{r(40)}",
    "Notion": f"ntn_{r(46)}",
    "Databricks": f"dapi{r(32, HEX)}",
    "Perplexity": f"pplx-{r(48)}",
    "Cerebras": f"csk-{r(48)}",
    "Fireworks": f"fw_{r(24)}",
    "Replicate": f"r8_{r(37)}",
    "xAI": f"xai-{r(80)}",
    "NVIDIA": f"nvapi-{r(64)}",
    "age": f"AGE-SECRET-KEY-1{r(58, UPPER)}",
    "Atlassian": f"ATATT3{r(180)}",
    "Docker Hub": f"dckr_pat_{r(27)}",
    "Vault": f"hvs.{r(90)}",
    "HCP Terraform": f"{r(14)}.atlasv1.{r(60)}",
}


@pytest.mark.parametrize("service", KEYS)
@pytest.mark.parametrize(
    "form", ["{}", '{{"k": "{}"}}', "a\\n{}\\n", "?k={}&b", "%20{}%20", "({})"]
)
def test_a_documented_key_is_known_by_every_list(service: str, form: str) -> None:
    key = KEYS[service]
    text = form.format(key)

    for clean, mask in ((redact_shapes, REDACTED), (redact_keys, REDACTED), (KeyMask({}), MASK)):
        assert key[-12:] not in clean(text)
        assert mask in clean(text)
    # The first part of Discord's has no fixed length.
    assert service == "Discord" or redact_shapes(text) == form.format(REDACTED)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("postgresql://app:s3cret@db.test:5432/x", f"postgresql://app:{REDACTED}@db.test:5432/x"),
        ("https://ana:Xy7kkkkk9@in.test/", f"https://ana:{REDACTED}@in.test/"),
        (f"AccountKey={'aB3/' * 21}aB==;x", f"AccountKey={REDACTED};x"),
    ],
)
def test_beside_a_secret_the_rest_stays(text: str, clean: str) -> None:
    assert redact_shapes(text) == clean


WORDS = [
    "Chosen: Basic membership",
    "Cookie: chocolate chip",
    "Basic settings, basic authentication and the basic uploader",
    "bearer instruments and bearer bonds",
    "token = 12345678",
    "session=morning",
    "hf_transfer_enabled_by_default",
    "sk-loading-indicator-wrapper",
    "sk-2024-annual-report-overview",
    "risk-assessment-of-the-whole-thing",
    "http://user:password@shop.test",
    "npm_config_registry=https://registry.test/",
    "Authorization: required",
    "Your password: choose a good one",
]


@pytest.mark.parametrize("text", WORDS)
def test_words_are_no_keys(text: str) -> None:
    assert (redact_shapes(text), redact_keys(text), KeyMask({})(text)) == (text, text, text)


@pytest.mark.parametrize(
    "name",
    [
        "pplx-a-name-made-of-many-words",
        "sk-abc12def9-abc12def8-abc12def7",
        "sk-SomeComponents-SomeElements-SomeWords",
        "sk-name-name-name-abcDefGhijklm",
        "sk-name-name-name-abcdefghijk",
        "sk-name-name-name-ABCDEFGHIJK",
        "sk-name-name-name-aBcDeFgHi",
    ],
)
def test_a_shape_that_names_have_as_well_needs_a_rest_that_looks_random(name: str) -> None:
    assert redact_shapes(name) == name


def test_a_shape_that_only_keys_have_is_a_key_whatever_the_rest_looks_like() -> None:
    assert redact_shapes("sk-proj-a-name-made-of-words") == REDACTED


# Twelve letters with two changes of case are a key, thirteen are words as programs write them.
@pytest.mark.parametrize(
    "rest", ["abcdefghi1", "aBcDeFgHiJ", "abcDefGhijkl", "abcdefghijklmnopqrst"]
)
def test_a_long_part_with_digits_or_mixed_letters_looks_random(rest: str) -> None:
    assert redact_shapes(f"sk-name-name-name-{rest}") == REDACTED
