"""What the scripted server of the gateway's tests says, and the settings of its models."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

from openai_server import Answer

SECRET = "sk-abcdefghijklmnop1234567890"
AGAIN = {"Retry-After": "0"}
SOON = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)}
TOOL = {"id": "1", "type": "function", "function": {"name": "browse", "arguments": "{}"}}
NO_TEMPERATURE = "Unsupported value: 'temperature' does not support 0.0 with this model."
NEWER_LIMIT = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
    "'max_completion_tokens' instead."
)
TOO_LARGE = (
    "'max_tokens' or 'max_completion_tokens' is too large: 2048. This model's maximum is 1024."
)
NO_QUOTA = "You exceeded your current quota, please check your plan and billing details."


def body(message: str) -> str:
    """A reply whose message is written as it is."""
    choice = f'{{"index": 0, "finish_reason": "stop", "message": {message}}}'
    return (
        '{"id": "1", "object": "chat.completion", "created": 1, "model": "m", '
        f'"choices": [{choice}], "usage": {{"prompt_tokens": 1, "completion_tokens": 1}}}}'
    )


SCRIPTS: dict[str, list[Answer]] = {
    "plain": [Answer("hello", prompt_tokens=100, completion_tokens=20)],
    "401": [Answer(status=401, error=f"Incorrect API key provided: {SECRET}")],
    "401-secret": [Answer(status=401, error=f"Incorrect API key provided: {SECRET}")],
    "403": [Answer(status=403, error="not for you")],
    "404": [Answer(status=404, error="no such model")],
    "429": [Answer(status=429, error="slow down", headers=AGAIN)],
    "429-once": [Answer(status=429, headers={"Retry-After": "0.4"}), Answer("after a pause")],
    "429-for-hours": [Answer(status=429, headers={"Retry-After": "7200"})],
    "500": [Answer(status=500, error="boom")],
    "500-twice": [Answer(status=500), Answer(status=503), Answer("third time lucky")],
    "400": [Answer(status=400, error="unknown field")],
    "context": [
        Answer(status=400, error="maximum context length is 10 tokens", code="context_length")
    ],
    "context-llama": [
        Answer(status=400, error="request (20 tokens) exceeds the available context size (10)")
    ],
    "policy": [Answer(status=400, error="rejected by our safety system", code="content_policy")],
    "filtered": [Answer("", finish_reason="content_filter")],
    "refused": [Answer(None, message={"refusal": "I will not click that."})],
    "empty": [Answer("  \n")],
    "null": [Answer(None)],
    "spent": [Answer("", finish_reason="length", completion_tokens=64)],
    "broken-json": [Answer(raw='{"choices": [')],
    "html": [Answer(raw="<html>proxy</html>", headers={"Content-Type": "text/html"})],
    "no-choices": [Answer(raw='{"id": "x", "choices": []}')],
    "slow": [Answer("late", delay=1.5)],
    "thinks": [Answer("done", message={"reasoning_content": "first I ponder"})],
    "thinks-aloud": [Answer("<think>hmm</think>done")],
    "priced": [Answer("ok", prompt_tokens=1000, completion_tokens=500)],
    "gpt-4o": [Answer("ok", prompt_tokens=1000, completion_tokens=500)],
    "narrow": [Answer("ok", delay=0.2)],
    "recorded": [Answer("page.goto('http://127.0.0.1:4001/')"), Answer("never asked for")],
    "counted": [Answer("a"), Answer("b")],
    "429-date": [Answer(status=429, error="busy", headers=SOON)],
    "429-ms": [
        Answer(status=429, headers={"Retry-After-Ms": "400", "Retry-After": "7200"}),
        Answer("after milliseconds"),
    ],
    "error-200": [Answer(raw='{"error": {"message": "the upstream model fell over"}}')],
    "error-200-text": [Answer(raw='{"error": "no such deployment"}')],
    "error-200-rate": [
        Answer(raw='{"error": {"message": "slow down", "code": 429}}', headers=AGAIN)
    ],
    "error-200-key": [Answer(raw='{"error": {"code": "invalid_api_key", "message": "bad key"}}')],
    "error-200-long": [Answer(raw='{"error": {"message": "maximum context length is 5 tokens"}}')],
    "parts": [
        Answer(
            raw=body(
                '{"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, '
                '{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]}'
            )
        )
    ],
    "number": [Answer(raw=body('{"role": "assistant", "content": 42}'))],
    "object": [Answer(raw=body('{"role": "assistant", "content": {"mark": 3}}'))],
    "only-thinks": [Answer("", message={"reasoning_content": "I ponder"})],
    "only-thinks-parts": [
        Answer(
            raw=body(
                '{"role": "assistant", "content": [{"type": "thinking", "thinking": "I ponder"}]}'
            )
        )
    ],
    "only-tools": [Answer(None, message={"tool_calls": [TOOL]}, finish_reason="tool_calls")],
    "lukewarm": [Answer(status=400, error=NO_TEMPERATURE), Answer("warm"), Answer("warm again")],
    "lukewarm-set": [Answer(status=400, error=NO_TEMPERATURE)],
    "newer-limit": [Answer(status=400, error=NEWER_LIMIT), Answer("short"), Answer("again")],
    "extra-limit": [
        Answer(status=422, error="[{'type': 'extra_forbidden', 'loc': ['body', 'max_tokens']}]"),
        *(Answer("short"), Answer("again")),
    ],
    "older-limit": [
        Answer(status=422, error="max_completion_tokens: Extra inputs are not permitted"),
        Answer("short"),
    ],
    "limit-too-large": [Answer(status=400, error=TOO_LARGE)],
    "no-quota": [Answer(status=429, error=NO_QUOTA, code="insufficient_quota")],
    "no-quota-now": [
        Answer(status=429, error=f"{NO_QUOTA} Please retry in 0 s.", headers=AGAIN),
        Answer("a minute later"),
    ],
    "no-balance": [Answer(status=402, error="Insufficient Balance")],
    "no-credit": [Answer(status=400, error="Your credit balance is too low to access the API.")],
    "hard-limit": [
        Answer(
            status=400, error="Billing hard limit was reached", code="billing_hard_limit_reached"
        )
    ],
    "cut": [Answer("page.goto(", finish_reason="length", completion_tokens=64)],
}
SETTINGS: dict[str, dict[str, Any]] = {
    "slow": {"timeout": 0.3},
    "gbnf": {"constrained": "gbnf"},
    "schema": {"constrained": "json_schema"},
    "seeing": {"vision": True},
    "priced": {"input_cost_per_mtok": 2.0, "output_cost_per_mtok": 10.0},
    "narrow": {"max_parallel": 2},
    "tuned": {
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 50,
        "extra_body": {"top_k": 1},
    },
    "hot": {"temperature": None},
    "lukewarm-set": {"temperature": 0.0},
    "no-key": {"api_key_env": "AUTOWEB_TEST_ABSENT_KEY"},
    "own-key": {"api_key_env": "AUTOWEB_TEST_API_KEY"},
    "untidy-key": {"api_key_env": "AUTOWEB_TEST_LOGIN"},
    "broken-key": {"api_key_env": "AUTOWEB_TEST_BROKEN"},
    "older-limit": {"refuses": ["max_tokens"]},
    "newer-limit-set": {"refuses": ["max_tokens"]},
    "no-limit-set": {"refuses": ["max_tokens", "max_completion_tokens"]},
}
