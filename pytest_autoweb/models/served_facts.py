"""What a server tells of the model that answers, beside its replies: which file it is.

A reply of OpenAI's API names the model and may have a `system_fingerprint`. Ollama's replies tell
only the name that was asked for, behind which `ollama pull` may put another file; its list of
loaded models tells the digest (https://docs.ollama.com/api/ps).
"""

import json
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import suppress
from http.client import HTTPException
from typing import Any

from pytest_autoweb.models.engine_pool import engine_version
from pytest_autoweb.models.local_models import local_model
from pytest_autoweb.models.model_spec import OLLAMA_PROVIDERS, ModelSpec, base_url

MOST_TOLD = 200
"""Limit on the characters that are kept of what a server tells."""

_FRESH_S = 60.0
_TIMEOUT_S = 2.0
_LARGEST = 1_000_000
_DIGEST_CHARS = 12


class ServedFacts:
    """What is known of model files; each server is asked about a model once a minute at most.

    Args:
        environ: tells where Ollama listens.
        clock: tells the time in seconds.
    """

    def __init__(
        self, environ: Mapping[str, str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._environ, self._clock = environ, clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[float, str]] = {}

    def fingerprint(self, spec: ModelSpec) -> str:
        """Return digest, quantisation and engine of a model that has just answered.

        Returns:
            An empty text if its server has no way to tell, or does not tell.
        """
        if spec.provider == "local":
            model = local_model(spec.litellm_model)
            return _joined(f"sha256 {model.sha256}", model.quantisation, engine_version())
        provider, _, name = spec.litellm_model.partition("/")
        if provider not in OLLAMA_PROVIDERS:
            return ""
        with self._lock:
            asked, found = self._known.get(spec.name, (-_FRESH_S, ""))
            if self._clock() - asked >= _FRESH_S:
                found = _of_ollama(base_url(spec, self._environ) or "", name)
                self._known[spec.name] = (self._clock(), found)
        return found


def _of_ollama(base: str, name: str) -> str:
    loaded = _asked(f"{base}/api/ps").get("models")
    for model in loaded if isinstance(loaded, list) else ():
        if isinstance(model, dict) and _same(str(model.get("name")), name):
            details = model.get("details")
            quantised = details.get("quantization_level") if isinstance(details, dict) else ""
            version = str(_asked(f"{base}/api/version").get("version") or "")
            digest = str(model.get("digest") or "")
            return _joined(
                f"sha256 {digest.removeprefix('sha256:')}" if digest else "",
                str(quantised or ""),
                f"ollama {version}" if version else "",
            )
    return ""


def _same(loaded: str, asked: str) -> bool:
    """Tell whether two names mean one model; without a tag, Ollama takes `latest`."""
    return loaded == (asked if ":" in asked else f"{asked}:latest")


def _asked(url: str) -> dict[str, Any]:
    """Return an object that a server tells; empty if it does not answer with one."""
    with suppress(OSError, HTTPException, ValueError):
        with urllib.request.urlopen(url, timeout=_TIMEOUT_S) as answer:
            found = json.loads(answer.read(_LARGEST))
        if isinstance(found, dict):
            return found
    return {}


def _joined(digest: str, *others: str) -> str:
    short = digest[: len("sha256 ") + _DIGEST_CHARS]
    return ", ".join(part for part in (short, *others) if part)[:MOST_TOLD]
