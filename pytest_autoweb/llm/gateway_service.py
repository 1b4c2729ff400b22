"""Handling of requests in the gateway: replay a recording, or call the model and record it."""

import importlib.metadata
import os
import socket
import threading
from collections.abc import Iterable, Mapping
from functools import partial
from urllib.parse import urlsplit

from pytest_autoweb.errors import ModelError, SettingsError
from pytest_autoweb.llm.budget import CostBudget, Reservation
from pytest_autoweb.llm.cassettes import CassetteStore, ReplySource
from pytest_autoweb.llm.client import Reply, Request
from pytest_autoweb.llm.engine_pool import SLOTS, EnginePool, engine_problem, engine_version
from pytest_autoweb.llm.keys import KeyMask
from pytest_autoweb.llm.litellm_client import LiteLLMClient
from pytest_autoweb.llm.local_models import local_model
from pytest_autoweb.llm.price import Price, token_bound
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.llm.target import Endpoint, base_url, resolve_target
from pytest_autoweb.llm.wire import ModelCheck, ModelStats, StartConfig, Stats
from pytest_autoweb.results import Usage

_DEFAULT_PARALLEL = 8
_CONNECT_TIMEOUT_S = 5.0


class GatewayService:
    """The gateway's state and operations, shared by all test processes of a session."""

    def __init__(self, config: StartConfig) -> None:
        self._config = config
        self._mask = KeyMask(os.environ)
        self._store = CassetteStore(config.cassettes, config.record_mode, mask=self._mask)
        self._live = LiteLLMClient(backoff_s=config.backoff_s)
        self._engines = EnginePool(config.run_dir, os.environ)
        self._budget = CostBudget(
            config.max_cost, allow_unpriced=config.allow_unpriced, folder=config.run_dir
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

    def prices(self, names: Iterable[str]) -> dict[str, Price | None]:
        """Return the price of each model's tokens, or None where it is unknown."""
        return {name: self._live.price(self._spec(name)) for name in names}

    def complete(self, request: Request) -> Reply:
        """Answer one request.

        Raises:
            ModelError: the call failed; keys are masked in its detail.
        """
        try:
            reply = self._answer(request)
        except ModelError as error:
            error.detail = self._mask(error.detail)
            self._count(request.model, error.usage or Usage(), error.cause)
            raise
        self._count(request.model, reply.usage)
        return reply

    def check(self, names: Iterable[str], case_ids: Iterable[str]) -> list[ModelCheck]:
        """Tell for each model whether it can be used, without sending it a request."""
        cases = tuple(case_ids)
        return [self._check(name, cases) for name in names]

    def stats(self) -> Stats:
        """Return counts and costs of all calls so far."""
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
            return self._live.complete(spec, request, target, partial(self._reserve, spec, request))

    def _reserve(self, spec: ModelSpec, request: Request) -> Reservation:
        """Reserve money for one try."""
        most = token_bound(spec, request)
        price = None if self._budget.cap is None else self._live.price(spec, most.input_tokens)
        return self._budget.reserve(spec.name, price, most)

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
            return threading.Semaphore(spec.max_parallel or _DEFAULT_PARALLEL)
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
                if recorded or self._config.record_mode == "none":
                    return self._check_recordings(name, recorded)
            problem = self._live_problem(spec)
        except (ModelError, SettingsError) as error:
            problem = error.detail if isinstance(error, ModelError) else str(error)
        detail = self._mask(problem) if problem else "can be called"
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
    version = importlib.metadata.version("litellm")
    return ReplySource(server=f"{provider if slash else 'hosted'} (litellm {version})")


def _connection_problem(url: str) -> str | None:
    """Say why no connection to the URL can be made, or return None."""
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
