"""`autoweb debug prompts`: print what a model would be sent for a case, without asking any."""

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import ModelError, SettingsError
from pytest_autoweb.browser.page.outline import estimate_tokens
from pytest_autoweb.cell.strategies import prompts_of, strategy_of
from pytest_autoweb.cli.arguments import add_pytest_flags
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.messages import Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.prompts import load_prompt
from pytest_autoweb.session.items import CellItem

_PROMPTS_ABOUT = """\
Prints the first prompts of a case for a model, word for word: the page is opened and captured as in
a run, in the case's own web server, but no model is asked, and nothing is paid or kept.

  autoweb debug prompts show cases/shop.yaml::login openai/gpt-5-mini
  autoweb debug prompts show cases/shop.yaml ollama_chat/qwen3:8b -- --autoweb-agent=codegen:once

CASE is a case file, with the id of a case behind `::`; without one, the file's first case is taken.
Flags of pytest, such as --autoweb-models-file or --autoweb-agent, stand behind `--`. Where a
script is written at once, a plan of one step stands for the model's own, so that the second prompt
can be shown as well. Secrets stand there by name, as in the real prompt.

Exit status: 0 prompts were printed; 4 the case, the model or a flag cannot be used, or the page
cannot be opened.
"""
_PLAN = """\
PLAN_START
Step 1: (a plan of the model's)
- Description: (what the model would plan)
- Target URL: CURRENT_PAGE
- Entry Point Action: Direct URL
- Status: CONFIRMED
PLAN_END
"""
_STANDS_FOR_REPLY = {"plan": _PLAN, "visual": "(the model's description of the picture)"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _PROMPTS_ABOUT
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser(
        "show",
        help="print the first prompts of a case for a model",
        description=_PROMPTS_ABOUT,
    )
    show.add_argument("case", metavar="CASE", help="a case file, or FILE::ID for one of its cases")
    show.add_argument("model", metavar="MODEL", help="a model, as for --autoweb-models")
    add_json_argument(show)
    add_pytest_flags(show)
    parser.set_defaults(run=run)


class _Shown:
    """A plugin of pytest that runs one cell whose model is shown everything and says nothing."""

    def __init__(self, case_id: str) -> None:
        self._case_id = case_id
        self.requests: list[Request] = []
        self.item: CellItem | None = None
        self.ids: list[str] = []

    def pytest_autoweb_client(self, spec: ModelSpec) -> Client:
        """Answer for every model in the place of its service."""
        return self

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep one cell of the case."""
        cells = [item for item in items if isinstance(item, CellItem)]
        self.ids = list(dict.fromkeys(item.cell.case.id for item in cells))
        wanted = [item for item in cells if item.cell.case.id == (self._case_id or self.ids[0])]
        items[:] = wanted[:1]
        self.item = wanted[0] if wanted else None

    def complete(self, request: Request) -> Reply:
        """Keep the request; only what comes before the decisive prompt gets a reply.

        Raises:
            ModelError: nobody answers.
        """
        self.requests.append(request)
        if (text := _STANDS_FOR_REPLY.get(request.stage)) is not None:
            return Reply(text=text)
        raise ModelError("unavailable", request.model, "prompts are only shown")


def run(args: argparse.Namespace) -> int:
    """Run the case up to its decisive prompt, and print all prompts.

    Raises:
        SettingsError: the case, the model or a flag cannot be used.
    """
    path, _, case_id = args.case.partition("::")
    if not Path(path).is_file():
        raise SettingsError(f"there is no case file {path}")
    shown, said = _Shown(case_id), io.StringIO()
    # A client of the project's own conftest.py would be asked, and might be paid.
    pytest.hookimpl(tryfirst=True)(_Shown.pytest_autoweb_client)
    with tempfile.TemporaryDirectory() as folder:
        flags = [
            path,
            *("-q", "-p", "no:cacheprovider", "--assert=plain", "--autoweb-record-mode=off"),
            f"--autoweb-models={args.model}",
            f"--autoweb-report={folder}/report",
            f"--autoweb-dir={folder}/runs",
            *args.flags,
        ]
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            pytest.main(flags, plugins=[shown])
    if shown.item is None and shown.ids:
        raise SettingsError(f"{path} has no case {case_id!r}; its cases: {', '.join(shown.ids)}")
    if shown.item is None or not shown.requests:
        sys.stderr.write(said.getvalue())
        raise SettingsError(f"{args.case}: no prompt was reached; pytest's words are above")
    if args.json:
        _print_as_json(shown.item, shown.requests)
    else:
        _print(shown.item, shown.requests)
    return 0


def _print_as_json(item: CellItem, requests: list[Request]) -> None:
    cell = item.cell
    calls = [
        {
            "stage": request.stage,
            "tokens": _tokens(request),
            "messages": [
                {
                    "role": message.role,
                    "content": message.content,
                    "picture_bytes": [_bytes_of(picture) for picture in message.images],
                }
                for message in request.messages
            ],
        }
        for request in requests
    ]
    asked = {"case": cell.case.id, "model": cell.spec.name, "strategy": cell.strategy}
    print_json("prompts", {**asked, "calls": calls, "prompt_versions": _versions(item)})


def _tokens(request: Request) -> int:
    return sum(estimate_tokens(message.content) for message in request.messages)


def _bytes_of(picture: str) -> int:
    """Return the size of a picture that is a `data:` URI."""
    return len(picture) * 3 // 4


def _versions(item: CellItem) -> dict[str, int | str]:
    """Return the version of each prompt file that the strategy may use, by its name."""
    names = prompts_of(strategy_of(item.cell.strategy, item.cell.spec), item.cell.spec, ())
    return {name: load_prompt(name).version for name in sorted(names)}


def _print(item: CellItem, requests: list[Request]) -> None:
    cell = item.cell
    for number, request in enumerate(requests, start=1):
        call = f"call {number} of {cell.spec.name}: {request.stage}"
        print(f"===== {call}, about {_tokens(request):,} tokens")
        for message in request.messages:
            print(f"----- {message.role}")
            print(message.content)
            for picture in message.images:
                print(f"(a picture of {_bytes_of(picture) // 1024:,} kB)")
    versions = ", ".join(f"{name} (version {of})" for name, of in _versions(item).items())
    print(f"===== prompt files of the strategy {cell.strategy}: {versions}")
