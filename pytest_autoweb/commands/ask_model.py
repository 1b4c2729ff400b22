"""`autoweb prompts`, `locate` and `analyze`: what one model is asked, and what it says.

`prompts` prints what a model would be sent for a case, without asking any. `locate` finds one
element of a page by its description, and shows the search. `analyze` asks what went wrong in a
saved run; facts and opinion stay apart.
"""

import argparse
import contextlib
import io
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_autoweb.commands.arguments import (
    add_json_argument,
    add_max_cost,
    add_models_file,
    opened_page,
    print_json,
)

# Late imports: every `autoweb` command loads this module, and only its own run needs the rest.

if TYPE_CHECKING:
    import pytest
    from playwright.sync_api import Page, ViewportSize

    from pytest_autoweb.llm.client import Client, Reply, Request
    from pytest_autoweb.llm.model_spec import ModelSpec
    from pytest_autoweb.locate.locator import LocatorResult
    from pytest_autoweb.report.json_report import Analysis
    from pytest_autoweb.session.items import CellItem

    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]


_PROMPTS_ABOUT = """\
Prints the first prompts of a case for a model, word for word: the page is opened and captured as in
a run, in the case's own web server, but no model is asked, and nothing is paid or kept.

  autoweb prompts show cases/shop.yaml::login openai/gpt-5-mini
  autoweb prompts show cases/shop.yaml ollama_chat/qwen3:8b -- --autoweb-codegen=once

CASE is a case file, with the id of a case behind `::`; without one, the file's first case is taken.
Flags of pytest, such as --autoweb-models-file or --autoweb-strategy, stand behind `--`. Where a
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

_LOCATE_ABOUT = """\
Finds an element of a page by its description. A model with vision sees the page with two lines and
numbered boxes drawn over it and says where the element lies, until only one element can be meant.

Afterwards the folder holds each picture that the model saw, film.html, which plays them with the
answers and the remaining candidates, and location.json with the same information as data.

  autoweb locate http://127.0.0.1:8000/ "the bin icon in Ana's row" --model openai/gpt-5-mini
  autoweb locate https://shop.example/ "the cart" --role button --model gemini/gemini-2.5-pro

The model needs `vision = true` in [tool.autoweb.models."NAME"] of pyproject.toml or in a models
file. A search takes at most 24 calls of the model (48 with --algorithm seed), usually one to three.

Exit status: 0 found; 1 not found with certainty (not_found, ambiguous, inconsistent, budget);
4 invalid input, a page that cannot be opened, or a model that cannot be asked.
"""

_ANALYZE_ABOUT = """\
Prints the facts of a saved run (rates, outcomes, cost, the verdict of the paired tests), and below
them what a model makes of it. The model sees a few lines for each attempt: outcome, steps, checks
and errors, but no page and no prompt. Nobody checks what it says.

  autoweb analyze autoweb-report
  autoweb analyze autoweb-report --model openai/gpt-5-mini --max-cost 0.05

A bare name is a model of Ollama. The answer is also written into the run's report, where it
replaces an earlier one, unless --only-print is given.

Exit status: 0 the model answered; 1 it gave no answer; 4 the run or the model cannot be used.
"""


def add_prompts_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb prompts`."""
    parser = subparsers.add_parser(
        "prompts",
        help="print what a model would be sent for a case",
        description=_PROMPTS_ABOUT,
    )
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser(
        "show",
        help="print the first prompts of a case for a model",
        description=_PROMPTS_ABOUT,
    )
    show.add_argument("case", metavar="CASE", help="a case file, or FILE::ID for one of its cases")
    show.add_argument("model", metavar="MODEL", help="a model, as for --autoweb-models")
    add_json_argument(show)
    show.add_argument(
        "flags", nargs="*", default=[], metavar="-- FLAG", help="flags of pytest, behind `--`"
    )
    parser.set_defaults(run=run_prompts)


class _Shown:
    """A plugin of pytest that runs one cell whose model is shown everything and says nothing."""

    def __init__(self, case_id: str) -> None:
        self._case_id = case_id
        self.requests: list[Request] = []
        self.item: CellItem | None = None
        self.ids: list[str] = []

    def pytest_autoweb_client(self, spec: "ModelSpec") -> "Client":
        """Answer for every model in the place of its service."""
        return self

    def pytest_collection_modifyitems(self, items: "list[pytest.Item]") -> None:
        """Keep one cell of the case."""
        from pytest_autoweb.session.items import CellItem

        cells = [item for item in items if isinstance(item, CellItem)]
        self.ids = list(dict.fromkeys(item.cell.case.id for item in cells))
        wanted = [item for item in cells if item.cell.case.id == (self._case_id or self.ids[0])]
        items[:] = wanted[:1]
        self.item = wanted[0] if wanted else None

    def complete(self, request: "Request") -> "Reply":
        """Keep the request; only what comes before the decisive prompt gets a reply.

        Raises:
            ModelError: nobody answers.
        """
        from pytest_autoweb.errors import ModelError
        from pytest_autoweb.llm.client import Reply

        self.requests.append(request)
        if (text := _STANDS_FOR_REPLY.get(request.stage)) is not None:
            return Reply(text=text)
        raise ModelError("unavailable", request.model, "prompts are only shown")


def run_prompts(args: argparse.Namespace) -> int:
    """Run the case up to its decisive prompt, and print all prompts.

    Raises:
        SettingsError: the case, the model or a flag cannot be used.
    """
    import pytest

    from pytest_autoweb.errors import SettingsError

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
            f"--autoweb-storage={folder}/runs",
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


def _print_as_json(item: "CellItem", requests: "list[Request]") -> None:
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


def _tokens(request: "Request") -> int:
    from pytest_autoweb.page.outline import estimate_tokens

    return sum(estimate_tokens(message.content) for message in request.messages)


def _bytes_of(picture: str) -> int:
    """Return the size of a picture that is a `data:` URI."""
    return len(picture) * 3 // 4


def _versions(item: "CellItem") -> "dict[str, int | str]":
    """Return the version of each prompt file that the strategy may use, by its name."""
    from pytest_autoweb.llm.prompts import load_prompt
    from pytest_autoweb.strategies import prompts_of

    names = prompts_of(item.cell.strategy, item.cell.spec, ())
    return {name: load_prompt(name).version for name in sorted(names)}


def _print(item: "CellItem", requests: "list[Request]") -> None:
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


def add_locate_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb locate`."""
    parser = subparsers.add_parser(
        "locate",
        help="find an element of a page by its description, with a vision model",
        description=_LOCATE_ABOUT,
    )
    parser.add_argument("url", metavar="URL", help="the page")
    parser.add_argument("description", metavar="DESCRIPTION", help="what to find, in words")
    parser.add_argument("--model", required=True, metavar="NAME", help="a model with vision")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("autoweb-locate"),
        metavar="DIR",
        help="folder of the pictures; default: autoweb-locate",
    )
    parser.add_argument(
        "--algorithm",
        choices=("bayes", "seed"),
        default="bayes",
        help="bayes weighs the answers by probability, seed eliminates candidates; default: bayes",
    )
    parser.add_argument(
        "--expected-text", default="", metavar="TEXT", help="the text of the element, if known"
    )
    parser.add_argument("--role", default="", metavar="ROLE", help="its ARIA role, if known")
    parser.add_argument(
        "--viewport", default="1280x720", metavar="WxH", help="size of the page; default: 1280x720"
    )
    add_models_file(parser)
    add_json_argument(parser)
    parser.set_defaults(run=run_locate)


def run_locate(args: argparse.Namespace) -> int:
    """Open the page, search it, and write pictures and film.

    Raises:
        AutowebError: the model, the page or an argument cannot be used.
    """
    from pytest_autoweb.errors import SettingsError
    from pytest_autoweb.llm.gateway import temporary_gateway
    from pytest_autoweb.llm.model_spec import load_project_specs

    size = _viewport(args.viewport)
    if not args.url.startswith(("http://", "https://", "file://")):
        raise SettingsError(f"{args.url!r} is not an http, https or file URL")
    if not args.description.strip():
        raise SettingsError("the description is empty")
    spec = load_project_specs((args.model,), Path(), args.models_file)[args.model]
    if not spec.vision:
        raise SettingsError(
            f"{args.model} is not known to see pictures: set `vision = true` in "
            f'[tool.autoweb.models."{args.model}"]'
        )
    args.out.mkdir(parents=True, exist_ok=True)
    with temporary_gateway() as client, opened_page(args.url, size) as page:
        client.add(spec)
        result = search(page, client, args)
    film = args.out / "film.html"
    if args.json:
        print_json("location", {"film": film, "location": result.location})
    else:
        print(_said(result))
        print(film)
    if result.transcript and result.transcript[-1].error:
        print(f"autoweb: {result.transcript[-1].error}", file=sys.stderr)
        return 4
    return 0 if result.status == "found" else 1


def search(page: "Page", client: "Client", args: argparse.Namespace) -> "LocatorResult":
    """Search an open page and write the output folder.

    Args:
        page: the page to search.
        client: the client that answers for the model.
        args: the command's arguments.
    """
    from pytest_autoweb.llm.client import Request
    from pytest_autoweb.locate.interview import VisionModel
    from pytest_autoweb.locate.locator import Sight
    from pytest_autoweb.report.html_report import render_film
    from pytest_autoweb.runs.saving import json_text, write_text_atomic

    pictures: dict[str, bytes] = {}

    def save(picture: bytes) -> str:
        name = f"picture-{len(pictures) + 1}.png"
        pictures[name] = picture
        (args.out / name).write_bytes(picture)
        return name

    request = Request(model=args.model, messages=(), stage="locate", case_id="autoweb-locate")
    sight = Sight(page, VisionModel(client, request), algorithm=args.algorithm, save=save)
    result = sight.locate(args.description, expected_text=args.expected_text, role=args.role)
    write_text_atomic(args.out / "location.json", json_text(result.location))
    write_text_atomic(args.out / "exchanges.json", json_text(list(result.transcript)))
    write_text_atomic(args.out / "film.html", render_film(result.location, pictures))
    return result


def _said(result: "LocatorResult") -> str:
    location = result.location
    calls = f"{location.calls} calls, {location.candidates} candidates"
    if result.status != "found":
        return f"{result.status}: {location.reason} ({calls})"
    x, y, width, height = location.box or (0, 0, 0, 0)
    place = f"at {x:.0f},{y:.0f}, {width:.0f} x {height:.0f}"
    return f"found: {location.element} {place}, {100 * result.confidence:.1f} % sure ({calls})"


def _viewport(text: str) -> "ViewportSize":
    from pytest_autoweb.errors import SettingsError

    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and min(int(width), int(height)) >= 100):
        raise SettingsError(f"--viewport: {text!r} is not a size such as 1280x720")
    return {"width": int(width), "height": int(height)}


def add_analyze_parser(subparsers: "Subparsers") -> None:
    """Declare `autoweb analyze`."""
    parser = subparsers.add_parser(
        "analyze",
        help="ask a model what went wrong in a saved run",
        description=_ANALYZE_ABOUT,
    )
    parser.add_argument("folder", type=Path, metavar="RUN", help="the folder of the run")
    parser.add_argument(
        "--model", default="qwen3:8b", metavar="NAME", help="who is asked; default: qwen3:8b"
    )
    add_models_file(parser)
    add_max_cost(parser, "the call")
    parser.add_argument("--only-print", action="store_true", help="leave the run's report as it is")
    add_json_argument(parser)
    parser.set_defaults(run=run_analyze, with_variants=True)


def run_analyze(args: argparse.Namespace) -> int:
    """Print the facts, ask the model, and keep its answer with the run.

    Raises:
        SettingsError: the folder is not a run folder, or the model is unknown.
    """
    from pytest_autoweb.llm.gateway import temporary_gateway
    from pytest_autoweb.report.json_report import build_report
    from pytest_autoweb.report.terminal import terminal_lines
    from pytest_autoweb.report.write import write_report
    from pytest_autoweb.runs.run_folder import read_run, refuse_other_folders
    from pytest_autoweb.session.local_analysis import analyse

    refuse_other_folders(args.folder)
    report = build_report(read_run(args.folder))
    spec = _spec(args)
    if not args.json:
        print("Facts, from the files of the run\n")
        for line, _ in terminal_lines(report):
            print(f"  {line}")
        sys.stdout.flush()
    with temporary_gateway(args.max_cost) as client:
        client.add(spec)
        analysis = analyse(report, spec.name, client)
    if args.json:
        said = {"model": analysis.model, "text": analysis.text, "error": analysis.error}
        print_json("analysis", {"summary": report.summary, "notes": report.notes, **said})
    if analysis.text is None:
        print(f"\nautoweb: {analysis.error}", file=sys.stderr)
        return 1
    if not args.json:
        _print_opinion(analysis)
    if not args.only_print:
        write_report(args.folder, max_chars=8_000_000, analysis=analysis)
        if not args.json:
            print(f"\nreport: {args.folder / 'index.html'}")
    return 0


def _print_opinion(analysis: "Analysis") -> None:
    print(f"\nThe opinion of {analysis.model}, which nobody checked\n")
    for line in _readable(analysis.text or "").splitlines():
        print(f"  {line}")


def _spec(args: argparse.Namespace) -> "ModelSpec":
    """Return the model of the project's settings, or else of a service, or else of Ollama."""
    from pytest_autoweb.llm.model_spec import load_project_specs
    from pytest_autoweb.session.local_analysis import full_name

    named = load_project_specs((args.model,), Path(), args.models_file)[args.model]
    if "/" in named.litellm_model:
        return named
    name = full_name(args.model)
    return load_project_specs((name,), Path(), args.models_file)[name]


def _readable(text: str) -> str:
    """Return a model's text without characters that steer a terminal."""
    return "".join(char for char in text if char.isprintable() or char == "\n")
