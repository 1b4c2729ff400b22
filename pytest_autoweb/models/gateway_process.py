"""The gateway as a process: `python -m pytest_autoweb.models.gateway_process`."""

import importlib.metadata
import os
import socket
import sys
import threading
import traceback
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

from pydantic import BaseModel, ValidationError

from pytest_autoweb.base.child_process import answer_owner, die_with_owner, read_config
from pytest_autoweb.base.errors import AccountEmpty, CassetteMiss, ModelError, SettingsError
from pytest_autoweb.base.local_server import LocalHandler, LocalServer, RequestRefused
from pytest_autoweb.base.redaction import KeyMask, redact_keys, tidy_secrets
from pytest_autoweb.models.cassettes import CassetteStore, ReplySource
from pytest_autoweb.models.circuit_breaker import CircuitBreaker
from pytest_autoweb.models.engine_pool import SLOTS, EnginePool, engine_problem, engine_version
from pytest_autoweb.models.gateway_messages import (
    LARGEST_BODY,
    MODELS_PATH,
    Acknowledgement,
    CallFailed,
    CheckReply,
    CheckRequest,
    ModelCheck,
    ModelStats,
    NewModels,
    Prices,
    StartConfig,
    Started,
    Stats,
)
from pytest_autoweb.models.key_file import with_key_file
from pytest_autoweb.models.litellm_client import LiteLLMClient
from pytest_autoweb.models.local_models import local_model
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.model_spec import (
    DEFAULT_PARALLEL,
    Endpoint,
    ModelSpec,
    base_url,
    resolve_target,
)
from pytest_autoweb.models.providers import calls_directly, provider_of
from pytest_autoweb.models.served_facts import ServedFacts
from pytest_autoweb.models.spending import CostBudget, Ledger, Price, Reservation, token_bound
from pytest_autoweb.results.records import Usage

_CONNECT_TIMEOUT_S = 5.0


class GatewayService:
    """The gateway's state and operations, shared by all test processes of a session.

    Every request of every test process comes here, each in a thread of its own. `complete` answers
    one, in this order:

    1. A cassette, unless the session or the model does without, or the request is for an analysis:
       if the request is recorded, its recording is the answer, and nothing below is touched.
    2. The model's slot, of which there are as many as it may have requests in flight.
    3. The circuit breaker. It is asked only once the slot is free, since calls may have failed
       while this one waited.
    4. The client. It reserves money from the budget for each single try, because each of them may
       be billed.
    5. The reply, or the failure, is recorded on the cassette.

    Counts in `_stats` include failures and their usage. Replies and errors leave the process
    without keys: errors are masked here, recordings by the store.

    A model keeps the settings and the slots with which it was first registered, since several test
    processes register the same models. `_lock` guards registration and counts, and is never held
    during a call; store, budget and breaker have locks of their own.
    """

    def __init__(self, config: StartConfig) -> None:
        self._config = config
        # An embedded engine needs no key, so it gets nothing of the file.
        own = dict(os.environ)
        os.environ.update(with_key_file(os.environ, config.key_file))
        # litellm reads the keys from here, and would take an empty one for a key.
        tidy_secrets(os.environ)
        self._mask = KeyMask(os.environ)
        self._store = CassetteStore(config.cassettes, config.record_mode, mask=self._masked)
        self._live = LiteLLMClient(backoff_s=config.backoff_s)
        self._facts = ServedFacts(os.environ)
        self._breaker = CircuitBreaker()
        self._engines = EnginePool(config.run_dir, own)
        self._budget = CostBudget(
            config.max_cost,
            allow_unpriced=config.allow_unpriced,
            ledger=config.ledger or Ledger(config.run_dir),
        )
        self._lock = threading.Lock()
        self._specs: dict[str, ModelSpec] = {}
        self._slots: dict[str, threading.Semaphore] = {}
        self._stats: dict[str, ModelStats] = {}
        self.add(config.models())

    def add(self, specs: Mapping[str, ModelSpec]) -> None:
        """Register models; one that is already known keeps its settings."""
        with self._lock:
            for name, spec in specs.items():
                # Several test processes register the same models.
                if name not in self._specs:
                    self._slots[name] = self._slots_for(spec)
                    self._specs[name] = spec
            named = {spec.api_key_env for spec in self._specs.values() if spec.api_key_env}
            self._mask = KeyMask(os.environ, [os.environ.get(name, "") for name in named])

    def _masked(self, text: str) -> str:
        """Return the text without keys, those included that models name by odd variables."""
        return self._mask(text)

    def prices(self, names: Iterable[str]) -> dict[str, Price | None]:
        """Return the price of each model's tokens, or None where it is unknown."""
        return {name: self._live.price(self._spec(name)) for name in names}

    def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            ModelError: the call failed; keys are masked in its detail.
        """
        try:
            reply = self._with_room(request, self._answer(request))
        except ModelError as error:
            error.detail = redact_keys(self._masked(error.detail))
            self._count(request.model, error.usage or Usage(), error.cause)
            raise
        self._count(request.model, reply.usage)
        return reply

    def check(self, names: Iterable[str], case_ids: Iterable[str]) -> list[ModelCheck]:
        """Tell for each model whether it can be used, without sending it a request.

        What calls of those that will be called need is loaded while the caller gets ready.
        """
        cases = tuple(case_ids)
        checks = [self._check(name, cases) for name in names]
        called = [self._spec(check.model) for check in checks if check.ok and check.live]
        if called:
            load = partial(self._live.load, called)
            threading.Thread(target=load, name="autoweb-loading", daemon=True).start()
        return checks

    def stats(self) -> Stats:
        spent, reserved, refused = self._budget.sums
        with self._lock:
            return Stats(
                models=dict(self._stats),
                litellm_loaded=self._live.loaded,
                engines=self._engines.loaded,
                max_cost_usd=self._budget.cap,
                spent_usd=spent,
                reserved_usd=reserved,
                refused_calls=refused,
            )

    def stop(self) -> None:
        """Stop the embedded engines."""
        self._engines.stop()

    def _with_room(self, request: Request, reply: Reply) -> Reply:
        """Return the reply; if it was cut off, note whether the model could write more."""
        if reply.finish_reason != "length" or request.more_room:
            return reply
        spec, own = self._spec(request.model), request.max_tokens
        roomier = spec.reply_limit(own, more_room=True) > spec.reply_limit(own)
        return reply.model_copy(update={"more_room": roomier})

    def _answer(self, request: Request) -> Reply:
        spec = self._spec(request.model)
        # An analysis describes one run, so a recording of it could never fit another run.
        if request.stage == "analysis" or not self._uses_cassettes(request.model):
            return self._call(request, spec)
        replayed = self._store.replay(request, spec)
        if replayed is not None:
            return replayed
        try:
            reply = self._call(request, spec)
        except ModelError as error:
            self._store.record(request, spec, _source(spec), error)
            raise
        self._store.record(request, spec, _source(spec), reply)
        return reply

    def _call(self, request: Request, spec: ModelSpec) -> Reply:
        if spec.provider == "builtin":
            raise ModelError("unavailable", spec.name, "built-ins are not answered by the gateway")
        target = self._target(spec)
        # The client reserves money for every single try, because each of them may be billed.
        with self._slots[spec.name]:
            # Checked only now, because earlier calls may have failed while this one waited for a
            # slot.
            self._breaker.check(spec.name)
            reserve = partial(self._reserve, spec, request)
            try:
                reply = self._live.complete(spec, request, target, reserve)
            except ModelError as error:
                if isinstance(error, AccountEmpty):
                    self._breaker.note(spec.name, error.cause, "asked to be paid")
                else:
                    self._breaker.note(spec.name, error.cause)
                raise
            self._breaker.note(spec.name, None)
        if told := self._facts.fingerprint(spec):
            return reply.model_copy(update={"fingerprint": told})
        return reply

    def _reserve(self, spec: ModelSpec, request: Request) -> Reservation:
        """Reserve money for one try."""
        most = token_bound(spec, request)
        price = None if self._budget.cap is None else self._dearest(spec, most.input_tokens)
        return self._budget.reserve(spec.name, price, most)

    def _dearest(self, spec: ModelSpec, input_tokens: int) -> Price | None:
        return self._live.price(spec, input_tokens, dearest=True)

    def _target(self, spec: ModelSpec) -> Endpoint:
        if spec.provider == "local":
            return self._engines.target(spec)
        return resolve_target(spec, os.environ)

    def _spec(self, name: str) -> ModelSpec:
        try:
            return self._specs[name]
        except KeyError:
            detail = "it is not among the models of this session"
            raise ModelError("unavailable", name, detail) from None

    def _slots_for(self, spec: ModelSpec) -> threading.Semaphore:
        """Return the limit on requests in flight; aliases of one embedded model share it."""
        if spec.provider != "local":
            return threading.Semaphore(spec.max_parallel or DEFAULT_PARALLEL)
        for name, other in self._specs.items():
            if other.litellm_model == spec.litellm_model:
                return self._slots[name]
        return threading.Semaphore(SLOTS)

    def _uses_cassettes(self, name: str) -> bool:
        return self._config.record_mode != "off" and name not in self._config.live

    def _check(self, name: str, case_ids: tuple[str, ...]) -> ModelCheck:
        try:
            spec = self._spec(name)
            if spec.provider == "builtin":
                return ModelCheck(model=name, ok=True, detail="built in", live=False)
            if self._uses_cassettes(name) and self._config.record_mode != "all":
                recorded = self._store.has_recordings(name, case_ids)
                if recorded or self._config.record_mode in ("none", "place"):
                    return self._check_recordings(name, recorded)
            problem = self._live_problem(spec)
        except (ModelError, SettingsError) as error:
            problem = error.detail if isinstance(error, ModelError) else str(error)
        detail = redact_keys(self._masked(problem)) if problem else "can be called"
        return ModelCheck(model=name, ok=problem is None, detail=detail)

    def _check_recordings(self, name: str, recorded: bool) -> ModelCheck:
        folder = self._store.folder_of(name).as_posix()
        detail = f"recordings in {folder}"
        if not recorded:
            detail = (
                f"not every case has a recording in {folder}; record with "
                "--autoweb-record-mode=new_episodes, or run live with --autoweb-record-mode=off"
            )
        return ModelCheck(model=name, ok=recorded, detail=detail, live=False)

    def _live_problem(self, spec: ModelSpec) -> str | None:
        if spec.provider == "local":
            return engine_problem(local_model(spec.litellm_model))
        target = resolve_target(spec, os.environ)
        if problem := self._live.provider_problem(spec, target):
            return problem
        url = base_url(spec, os.environ)
        provider = provider_of(spec.litellm_model)
        if not url and provider and not provider.needs_key:
            url = provider.url(os.environ)
        return _connection_problem(url) if url else None

    def _count(self, name: str, usage: Usage, cause: str | None = None) -> None:
        with self._lock:
            before = self._stats.get(name, ModelStats())
            failures = dict(before.failures)
            if cause is not None:
                failures[cause] = failures.get(cause, 0) + 1
            self._stats[name] = ModelStats(usage=before.usage + usage, failures=failures)


def _source(spec: ModelSpec) -> ReplySource:
    if spec.provider == "local":
        model = local_model(spec.litellm_model)
        return ReplySource(model.file_name, model.quantisation, engine_version())
    provider, slash, _ = spec.litellm_model.partition("/")
    caller = "without litellm"
    if calls_directly(spec) is None:
        with suppress(importlib.metadata.PackageNotFoundError):
            caller = f"litellm {importlib.metadata.version('litellm')}"
    return ReplySource(server=f"{provider if slash else 'hosted'} ({caller})")


def _connection_problem(url: str) -> str | None:
    """Return why no connection to the URL can be made, or None."""
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return f"api_base {url!r} is not a URL"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return f"api_base {url!r} is not a URL; write it as http://host:port/v1"
    try:
        with socket.create_connection((parts.hostname, port), timeout=_CONNECT_TIMEOUT_S):
            return None
    except OSError as error:
        return (
            f"nothing answers at {parts.scheme}://{parts.hostname}:{port} "
            f"({error.strerror or error}); start the server or correct api_base"
        )


_EXIT_DELAY_S = 0.1


class _Gateway(LocalServer):
    def __init__(self, service: GatewayService, token: str) -> None:
        self.service = service
        super().__init__(token, _Handler)

    def end(self) -> None:
        """Stop the engines now and this process once the answer has been sent."""
        self.service.stop()
        threading.Timer(_EXIT_DELAY_S, os._exit, args=(0,)).start()


class _Handler(LocalHandler):
    server: _Gateway

    def do_POST(self) -> None:
        try:
            self.check_token()
            status, answer = self._route(self.read_body(LARGEST_BODY))
        except RequestRefused as error:
            self.send_error(error.status, error.reason)
        except Exception:  # one broken request must not end the session's gateway
            traceback.print_exc(file=sys.stderr)
            self.send_error(500, "internal error, see gateway.log")
        else:
            # If the test process is gone, the reply has still been recorded and counted.
            self.send(status, answer.model_dump_json().encode())

    def _route(self, body: bytes) -> tuple[int, BaseModel]:
        service = self.server.service
        try:
            if self.path == "/complete":
                return self._complete(Request.model_validate_json(body))
            if self.path == "/check":
                asked = CheckRequest.model_validate_json(body)
                checks = service.check(asked.models, asked.case_ids)
                return 200, CheckReply(checks=tuple(checks))
            if self.path == "/prices":
                names = CheckRequest.model_validate_json(body).models
                return 200, Prices(prices=service.prices(names))
            if self.path == MODELS_PATH:
                service.add(NewModels.model_validate_json(body).models())
                return 200, Acknowledgement()
        except ModelError as error:
            return 422, CallFailed(cause=error.cause, detail=error.detail)
        except ValidationError:
            raise RequestRefused(400, "the body does not fit this path") from None
        if self.path == "/stats":
            return 200, service.stats()
        if self.path == "/stop":
            self.server.end()
            return 200, Acknowledgement()
        raise RequestRefused(404, "no such path")

    def _complete(self, request: Request) -> tuple[int, BaseModel]:
        try:
            return 200, self.server.service.complete(request)
        except ModelError as error:
            miss = isinstance(error, CassetteMiss)
            return 422, CallFailed(
                cause=error.cause, detail=error.detail, miss=miss, usage=error.usage
            )


def main() -> None:
    """Serve until the owner is gone."""
    config = StartConfig.model_validate(read_config())
    service = GatewayService(config)
    gateway = _Gateway(service, config.token)
    die_with_owner(config.owner_pid, service.stop, with_starter=not config.lasting)
    answer_owner(Started(port=gateway.server_port).model_dump())
    gateway.serve_forever()


if __name__ == "__main__":
    main()
