"""Live model calls in the gateway process; the only file that imports litellm.

Importing it takes seconds, so `openai_api` calls the servers that speak OpenAI's API: those of the
providers in `providers`, and the user's own.
"""

import logging
import os
import random
import re
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from types import ModuleType
from typing import Any, cast

from pytest_autoweb.base.errors import AccountEmpty, ModelError
from pytest_autoweb.models.agent_chat import completion_of
from pytest_autoweb.models.call_arguments import LIMITS, request_arguments
from pytest_autoweb.models.call_failures import (
    cause_of,
    describe,
    is_transient,
    may_be_billed,
    out_of_money,
    status_of,
    words_of,
)
from pytest_autoweb.models.computer_tool import completion_with
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.model_facts import installed_litellm
from pytest_autoweb.models.model_spec import OLLAMA_PROVIDERS, Endpoint, ModelSpec, key_problem
from pytest_autoweb.models.openai_api import load_connections
from pytest_autoweb.models.providers import (
    calls_directly,
    needs_litellm,
    no_key,
    no_provider,
    priced_entry,
    problem_by_name,
    provider_of,
)
from pytest_autoweb.models.rate_limits import (
    LONGEST_WAIT_S,
    CallTurn,
    RateGate,
    pause_before_next,
    retry_after,
)
from pytest_autoweb.models.served_facts import MOST_TOLD
from pytest_autoweb.models.spending import Price, Reservation, price_in_spec
from pytest_autoweb.models.table_prices import BilledTokens, cost_of_call, price_per_token
from pytest_autoweb.models.time_limit import within
from pytest_autoweb.results.records import Usage

# Late imports: litellm takes seconds to load, and the user's own servers are called without it.

# A call that took this share of its time limit counts as timed out.
_NEARLY = 0.95


class LiteLLMClient:
    """A client for live calls that retries when the service, not the request, is to blame.

    One object serves all threads of the gateway process. Each call of `complete` makes up to
    `tries` tries, and each try goes through the same steps, in this order:

    1. Wait for a turn of the rate gate, which names that differ only in their settings share. The
       waits of a call may add up to the model's `timeout`; after that it is a rate-limit error.
    2. Reserve money for the worst case of this one try. If that is refused, the call ends.
    3. Send the request, in a thread that is abandoned after the model's `timeout`.
    4. Settle the reservation: with the cost of a reply, with nothing for an error that no
       service bills, and with the reserved sum where that is not known.
    5. End the turn, whatever happened.

    Two kinds of tries do not count: one whose argument the service refused, which is repeated
    without it, and one that was under way when another call was refused for the same rate limit.
    Usage is summed over all tries, also in the error of a call that failed.

    Three things are learnt during a run and never forgotten: `_refused`, the arguments that a model
    (or, for a response format, a kind of request) has refused; `_lean`, which models do without
    litellm; and `_module`, litellm itself, which is imported when a model first needs it. `_lock`
    guards the latter two.

    Args:
        tries: the most tries of a call that the service fails.
        backoff_s: the pause after the first failed try; it doubles with each one.
        clock: tells the time in seconds.
    """

    def __init__(
        self,
        *,
        tries: int = 3,
        backoff_s: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tries, self._backoff_s = tries, backoff_s
        self._clock, self._gate = clock, RateGate(clock)
        self._lock = threading.Lock()
        self._refused: defaultdict[str, set[str]] = defaultdict(set)
        self._lean: dict[str, bool] = {}
        self._module: ModuleType | None = None

    @property
    def loaded(self) -> bool:
        return self._module is not None

    def load(self, specs: Iterable[ModelSpec]) -> None:
        """Load what calls of these models need, which their first calls would wait for."""
        for spec in specs:
            if self._litellm(spec) is None:
                load_connections()

    def complete(
        self,
        spec: ModelSpec,
        request: Request,
        target: Endpoint,
        reserve: Callable[[], Reservation],
    ) -> Reply:
        """Call the model.

        Args:
            spec: the model's settings.
            request: what to send.
            target: the server to call.
            reserve: reserves money for one try, or refuses.

        Raises:
            ModelError: the call failed; it carries the usage of all tries.
        """
        litellm = self._litellm(spec)
        if litellm is None:
            target = _direct(spec, target)
        completion = completion_of(request.chat, litellm)
        if request.computer:
            completion = completion_with(request.computer, litellm)
        write = partial(_arguments, through_litellm=litellm is not None)
        arguments = write(asked := self._as_learnt(spec, request), request, target)
        used, number, patience_s = Usage(), 0, spec.timeout
        while True:
            number += 1
            turn = self._turn(spec, target, patience_s, used)
            patience_s -= turn.waited_s
            try:
                reservation = _reserved(reserve, used)
                began = self._clock()
                response = within(spec.timeout, partial(completion, **arguments))
            except ModelError:
                raise
            except Exception as error:  # litellm raises errors of many libraries
                seconds = self._clock() - began
                reservation.settle(None if may_be_billed(error) else 0.0)
                used += Usage(calls=int(_was_sent(error)), latency_s=seconds)
                if (refused := _refused_argument(error, asked, arguments)) is not None:
                    # Remembered for later calls. One schema may be refused and another accepted.
                    whose = _kind(request) if refused == "response_format" else spec.name
                    self._refused[whose].add(refused)
                    arguments = write(asked := self._as_learnt(spec, request), request, target)
                    number -= 1
                    continue
                number -= self._wait_or_raise(error, spec, number, used, seconds, turn)
            else:
                self._gate.replied(turn, pause_before_next(response, datetime.now(UTC)))
                usage = self._usage(response, spec, self._clock() - began)
                # Without token counts, the service's charge is unknown.
                counted = usage.input_tokens + usage.output_tokens > 0
                reservation.settle(usage.cost_usd if counted else None)
                used += usage
                return _reply(response, spec, used)
            finally:
                self._gate.end(turn)

    def _as_learnt(self, spec: ModelSpec, request: Request) -> ModelSpec:
        """Return the settings, with the parameters that the model has refused in this run."""
        learnt = self._refused[spec.name] | self._refused[_kind(request)]
        return spec.model_copy(update={"refuses": (*spec.refuses, *learnt)})

    def _turn(self, spec: ModelSpec, target: Endpoint, most_s: float, used: Usage) -> CallTurn:
        """Wait until the service, having refused other calls, may be called again."""
        # Names that differ only in settings, such as effort, share the service's quota.
        turn = self._gate.enter(f"{target.model} {target.api_base}", max(0.0, most_s))
        if turn is None:
            detail = (
                f"the service refuses calls because of their rate, and one waits {spec.timeout:g} s"
                " at most (`timeout` in the model's settings)"
            )
            raise ModelError("rate_limit", spec.name, detail, usage=used)
        return turn

    def _wait_or_raise(
        self,
        error: Exception,
        spec: ModelSpec,
        number: int,
        used: Usage,
        seconds: float,
        turn: CallTurn,
    ) -> bool:
        """Wait before the next try, or raise if there is none.

        Returns:
            Whether the try is not counted, since an overloaded service refuses all calls under way.
        """
        asked = retry_after(error, datetime.now(UTC))
        cause = cause_of(error)
        # The random factor keeps parallel workers from retrying at the same moment.
        backoff = self._backoff_s * 2 ** (number - 1) * random.uniform(0.75, 1.25)
        pause = backoff if asked is None else asked
        if pause <= LONGEST_WAIT_S and is_transient(error):
            own = cause != "rate_limit" or self._gate.refused(turn, pause)
            if not own:
                return True
            if number < self._tries:
                if cause != "rate_limit":
                    time.sleep(pause)
                return False
        # The HTTP library may be the first to notice the timeout.
        limit_s = spec.timeout if seconds > spec.timeout * _NEARLY else None
        detail = describe(error, cause, number, limit_s=limit_s)
        if asked is not None and asked > LONGEST_WAIT_S:
            detail += (
                f"; the service asks to wait {asked:.0f} s, and a call waits "
                f"{LONGEST_WAIT_S:.0f} s at most"
            )
        if out_of_money(error):
            raise AccountEmpty(spec.name, detail, usage=used) from None
        raise ModelError(cause, spec.name, detail, usage=used) from None

    def provider_problem(self, spec: ModelSpec, target: Endpoint) -> str | None:
        """Return why this model cannot be called (unknown provider, no key), or None."""
        if (problem := problem_by_name(spec, target, os.environ)) is not None:
            return problem or None
        litellm = self._litellm(spec)
        if litellm is None:
            return None
        try:
            _, provider, _, _ = litellm.get_llm_provider(spec.litellm_model, api_base=None)
        except Exception:  # a model that litellm cannot place raises BadRequestError and others
            return no_provider(spec.litellm_model)
        if provider.startswith(_GOOGLE) and _lacks("google.auth"):
            return f"provider {provider} needs google-auth: pip install 'google-auth[requests]'"
        if provider in _AWS and _lacks("boto3"):
            return _NO_BOTO.format(provider)
        variable = f"{provider.upper()}_API_KEY"
        key = os.environ.get(variable)
        if key and not target.api_key and (problem := key_problem(variable, key)):
            return problem
        if target.api_key or target.api_base:
            return None
        missing = litellm.validate_environment(spec.litellm_model)["missing_keys"]
        if provider in _AWS:
            return _aws_problem(provider) if missing else None
        lacking = [name for name in missing if not os.environ.get(name)]
        return no_key(provider, lacking, join=" and ") if lacking else None

    def price(
        self, spec: ModelSpec, input_tokens: int = 0, *, dearest: bool = False
    ) -> Price | None:
        """Return the price of a token, loading litellm if the model needs it.

        Args:
            spec: the model.
            input_tokens: the length of the prompt.
            dearest: return the highest price of any token, such as one written to the service's
                cache or a reasoning token.
        """
        if (price := price_in_spec(spec)) is not None:
            return price
        if spec.litellm_model.partition("/")[0] in OLLAMA_PROVIDERS:
            return None
        litellm = self._litellm(spec)
        if litellm is None:
            _, entry = priced_entry(spec.litellm_model)
            return price_per_token(entry, input_tokens, dearest=dearest)
        try:
            info = litellm.get_model_info(spec.litellm_model)
        except Exception:  # models missing from the table raise errors of several classes
            return None
        return price_per_token(info, input_tokens, dearest=dearest)

    def _usage(self, response: Any, spec: ModelSpec, seconds: float) -> Usage:
        tokens = _billed(getattr(response, "usage", None))
        cost = self._cost(response, spec, tokens)
        return Usage(
            calls=1,
            input_tokens=tokens.prompt,
            output_tokens=tokens.reply,
            cached_tokens=tokens.read_from_cache,
            reasoning_tokens=tokens.reasoning,
            cost_usd=cost,
            unpriced_calls=int(cost is None),
            latency_s=seconds,
        )

    def _cost(self, response: Any, spec: ModelSpec, tokens: BilledTokens) -> float | None:
        if (price := price_in_spec(spec)) is not None:
            return price.of(tokens.prompt, tokens.reply, tokens.read_from_cache)
        if spec.litellm_model.partition("/")[0] in OLLAMA_PROVIDERS:
            return None  # litellm would query the server about the model at each call
        litellm = self._litellm(spec)
        # OpenRouter itself reports a call's cost, even for models that nobody has listed.
        reported = getattr(getattr(response, "usage", None), "cost", None)
        if litellm is None:
            cost = reported or cost_of_call(priced_entry(spec.litellm_model)[1], tokens)
        else:
            try:
                # litellm also knows what tokens read from a provider's cache cost.
                cost = litellm.completion_cost(
                    completion_response=response, model=spec.litellm_model
                )
            except Exception:  # the service may charge for something other than tokens
                cost = None
            cost = cost or reported
        return float(cost) if isinstance(cost, int | float) and cost else None

    def _litellm(self, spec: ModelSpec) -> ModuleType | None:
        """Return litellm, imported at the first call, or None if the model does not need it."""
        with self._lock:
            if (lean := self._lean.get(spec.name)) is None:
                # Determined once per model, because it searches a table of a thousand models.
                lean = installed_litellm() is None or _does_without_litellm(spec)
                self._lean[spec.name] = lean
            if lean:
                return None
            if self._module is None:
                self._module = _import_litellm()
            return self._module


def _does_without_litellm(spec: ModelSpec) -> bool:
    """Tell whether the server of a model speaks OpenAI's API, whoever runs it."""
    return spec.provider == "local" or calls_directly(spec) is not None


def _direct(spec: ModelSpec, target: Endpoint) -> Endpoint:
    """Return the endpoint of a call without litellm.

    Raises:
        ModelError: only litellm knows the provider, and it is not installed.
    """
    if (provider := provider_of(target.model)) is None:
        raise ModelError("unavailable", spec.name, needs_litellm(target.model))
    return provider.endpoint(target, os.environ)


def _arguments(
    spec: ModelSpec, request: Request, target: Endpoint, *, through_litellm: bool
) -> dict[str, Any]:
    arguments = request_arguments(spec, request, target, through_litellm=through_litellm)
    provider = None if through_litellm else provider_of(spec.litellm_model)
    return provider.fitted(arguments) if provider else arguments


def _import_litellm() -> ModuleType:
    # Otherwise the import downloads the price table.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_LOG"] = "ERROR"
    os.environ.pop("LITELLM_DEBUG", None)
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    # No callback may send prompts anywhere else.
    litellm.callbacks = []
    litellm.success_callback = []
    litellm.failure_callback = []
    litellm.drop_params = False
    # httpx is loaded with litellm.
    from litellm.llms.custom_httpx.http_handler import HTTPHandler, get_ssl_configuration

    from pytest_autoweb.models.answer_repairs import TidyingClient, correct_statuses

    correct_statuses(HTTPHandler)
    litellm.client_session = TidyingClient(verify=get_ssl_configuration(), follow_redirects=True)
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router", "httpx", "openai"):
        # Their messages contain whole prompts, and sometimes keys.
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return cast(ModuleType, litellm)


_AWS = frozenset({"bedrock", "sagemaker"})
_AWS_TOKEN = "AWS_BEARER_TOKEN_BEDROCK"
_NO_BOTO = "provider {} needs boto3: pip install boto3"
_GOOGLE = "vertex_ai"


def _lacks(module: str) -> bool:
    """Tell whether a package that litellm imports at the first call is missing."""
    try:
        return find_spec(module) is None
    except ModuleNotFoundError:  # the package around it
        return True


def _aws_problem(provider: str) -> str | None:
    """Return that AWS offers no credentials (variables, files or a role), or None.

    litellm asks boto3, which looks in more places than the environment.
    """
    if os.environ.get(_AWS_TOKEN):
        return None
    from litellm.llms.bedrock.base_aws_llm import BaseAWSLLM  # late, as litellm is

    try:
        found = BaseAWSLLM().get_credentials()
    except ImportError:
        return _NO_BOTO.format(provider)
    except Exception as error:  # boto3 raises many, such as for unknown profiles and refused roles
        return f"provider {provider} gets no credentials: {type(error).__name__}: {error}"
    if found is not None:
        return None
    return (
        f"no credentials for provider {provider}: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "
        f"AWS_PROFILE or {_AWS_TOKEN} in the environment, or run where a role gives them"
    )


def _kind(request: Request) -> str:
    return f"{request.model}\n{request.stage}"


# Optional arguments that a model may refuse, each with the setting behind it and the words that
# identify the refusal.
_DISPENSABLE: tuple[tuple[str, str, re.Pattern[str]], ...] = (
    ("temperature", "temperature", re.compile("temperature", re.IGNORECASE)),
    (
        "response_format",
        "constrained",
        re.compile(
            r"response_?format|json_?schema|response_?schema|output_?(?:format|config)|structured"
            r"|\bschema\b|tool_choice forces",
            re.IGNORECASE,
        ),
    ),
)


def _refused_argument(
    error: Exception, spec: ModelSpec, arguments: Mapping[str, Any]
) -> str | None:
    """Return the argument that a model refuses and no user asked for, or None.

    Args:
        error: the refusal, of litellm or of the model's server.
        spec: the settings, where a user may have asked for this argument.
        arguments: the arguments of the call.
    """
    if _was_sent(error) and status_of(error) not in (400, 422):
        return None
    said = words_of(error)
    for name, setting, words in _DISPENSABLE:
        if name in arguments and not spec.is_set(setting) and words.search(said):
            return name
    return _refused_limit(said, spec, arguments)


_UNKNOWN_NAME = re.compile(
    r"unsupported|(?:not|n't) (?:\w+ )?support|unknown|unrecogni[sz]ed|unexpected|\bextra(?:\b|_)"
    r"|instead|not (?:permitted|allowed|accepted|valid|a valid)|no longer|deprecated|forbidden"
    r"|invalid (?:parameter|argument|field)",
    re.IGNORECASE,
)
_TOO_LARGE = re.compile(
    r"too (?:large|long|big|many)|at most|exceed|less than|maximum", re.IGNORECASE
)


def _refused_limit(said: str, spec: ModelSpec, arguments: Mapping[str, Any]) -> str | None:
    """Return the name of the limit on a reply, if the server wants it under its other name."""
    for name, other in (LIMITS, LIMITS[::-1]):
        if name not in arguments or other in spec.refuses:
            continue
        too_large = _TOO_LARGE.search(said) is not None
        if not _mentions(name, said):
            wrong = _mentions(other, said) and not too_large
        else:
            wrong = bool(_UNKNOWN_NAME.search(said)) and (_mentions(other, said) or not too_large)
        if wrong:
            return name
    return None


def _mentions(name: str, said: str) -> bool:
    return re.search(rf"(?<!\w){name}(?!\w)", said) is not None


def _was_sent(error: Exception) -> bool:
    """Tell whether a call left this machine; litellm itself refuses some parameters."""
    return all(base.__name__ != "UnsupportedParamsError" for base in type(error).__mro__)


def _reply(response: Any, spec: ModelSpec, used: Usage) -> Reply:
    choice = response.choices[0] if response.choices else None
    message = getattr(choice, "message", None)
    text = getattr(message, "content", None) or ""
    reason = str(getattr(choice, "finish_reason", "") or "")
    # Some services put a refusal into a field of its own instead of the text; litellm passes it on
    # as an attribute since 1.110; earlier versions used a provider-specific field.
    fields = getattr(message, "provider_specific_fields", None) or {}
    refusal = str(getattr(message, "refusal", None) or fields.get("refusal") or "")
    if reason == "content_filter" or (refusal and not text):
        detail = refusal[:300] or "the service withheld the reply (content filter)"
        raise ModelError("refusal", spec.name, detail, usage=used)
    if not text.strip() and reason != "length":
        spent = f"{used.output_tokens} tokens, finish reason {reason or 'unknown'}"
        detail = f"the reply holds no text ({spent}){_instead_of_text(message, fields)}"
        raise ModelError("empty", spec.name, detail, usage=used)
    # For some providers, litellm prefixes the server's model name with the provider's name.
    provider = spec.litellm_model.partition("/")[0]
    served = _told(response, "model").removeprefix(f"{provider}/")
    return Reply(
        text=text,
        usage=used,
        model_served=served,
        fingerprint=_told(response, "system_fingerprint"),
        finish_reason=reason,
    )


def _told(response: Any, name: str) -> str:
    """Return what the server tells of the model, which may be of any type and length."""
    told = getattr(response, name, None)
    return told[:MOST_TOLD] if isinstance(told, str) else ""


def _instead_of_text(message: Any, fields: Mapping[str, Any]) -> str:
    """Describe the content of a reply without text: reasoning, tool calls, or nothing."""
    thoughts = getattr(message, "reasoning_content", None) or fields.get("reasoning") or ""
    calls = getattr(message, "tool_calls", None) or []
    if (single := getattr(message, "function_call", None)) is not None:
        calls = [*calls, single]
    found = [f"{len(str(thoughts))} characters of reasoning"] if thoughts else []
    if calls:
        names = [getattr(getattr(call, "function", call), "name", None) or "?" for call in calls]
        shown = ", ".join(repr(str(name)[:40]) for name in names[:3])
        found.append(f"{len(calls)} tool call(s) ({shown}), and no tools were offered")
    return f"; instead came {' and '.join(found)}" if found else ""


def _reserved(reserve: Callable[[], Reservation], used: Usage) -> Reservation:
    try:
        return reserve()
    except ModelError as error:
        error.usage = used
        raise


def _billed(usage: Any) -> BilledTokens:
    """Return the tokens that a service reports, under any of the names in use."""
    prompt = "prompt_tokens_details"
    read = _detail(usage, prompt, "cached_tokens")
    written = _detail(usage, prompt, "cache_creation_tokens")
    return BilledTokens(
        prompt=_count(usage, "prompt_tokens"),
        reply=_count(usage, "completion_tokens"),
        read_from_cache=read or _count(usage, "prompt_cache_hit_tokens"),
        written_to_cache=written or _detail(usage, prompt, "cache_write_tokens"),
        reasoning=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
    )


def _detail(usage: Any, group: str, name: str) -> int:
    """Return a number of tokens that a service may report separately, or 0."""
    return _count(getattr(usage, group, None), name)


def _count(numbers: Any, name: str) -> int:
    return int(getattr(numbers, name, 0) or 0)
