"""`autoweb debug locate`: find one element of a page by its description, and show the search."""

import argparse
import sys
from pathlib import Path

from playwright.sync_api import Page, ViewportSize

from pytest_autoweb.agents.locate.interview import VisionModel
from pytest_autoweb.agents.locate.locator import LocatorResult, Sight
from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.cli.arguments import add_models_file
from pytest_autoweb.cli.entry_page import opened_page
from pytest_autoweb.cli.json_document import add_json_argument, print_json
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.gateway import temporary_gateway
from pytest_autoweb.models.messages import Request
from pytest_autoweb.models.named_specs import load_project_specs
from pytest_autoweb.report.search_film import render_film
from pytest_autoweb.report.wording import count_of
from pytest_autoweb.results.runs.saving import json_text, write_text_atomic

_LOCATE_ABOUT = """\
Finds an element of a page by its description. A model with vision sees the page with two lines and
numbered boxes drawn over it and says where the element lies, until only one element can be meant.

Afterwards the folder holds each picture that the model saw, film.html, which plays them with the
answers and the remaining candidates, and location.json with the same information as data.

  autoweb debug locate http://127.0.0.1:8000/ "the bin icon in Ana's row" --model openai/gpt-5-mini
  autoweb debug locate https://shop.example/ "the cart" --role button --model gemini/gemini-2.5-pro

The model needs `vision = true` in [tool.autoweb.models."NAME"] of pyproject.toml or in a models
file. A search takes at most 24 calls of the model (48 with --algorithm seed), usually one to three.

Exit status: 0 found; 1 not found with certainty (not_found, ambiguous, inconsistent, budget);
4 invalid input, a page that cannot be opened, or a model that cannot be asked.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = _LOCATE_ABOUT
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
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Open the page, search it, and write pictures and film.

    Raises:
        AutowebError: the model, the page or an argument cannot be used.
    """
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
        result = search(page, client, args, constrained=spec.constrained != "none")
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


def search(
    page: Page, client: Client, args: argparse.Namespace, *, constrained: bool = False
) -> LocatorResult:
    """Search an open page and write the output folder.

    Args:
        page: the page to search.
        client: the client that answers for the model.
        args: the command's arguments.
        constrained: whether the model's server holds it to a JSON schema.
    """
    pictures: dict[str, bytes] = {}

    def save(picture: bytes) -> str:
        name = f"picture-{len(pictures) + 1}.png"
        pictures[name] = picture
        (args.out / name).write_bytes(picture)
        return name

    request = Request(model=args.model, messages=(), stage="locate", case_id="autoweb-locate")
    eyes = VisionModel(client, request, constrained=constrained)
    sight = Sight(page, eyes, algorithm=args.algorithm, save=save)
    result = sight.locate(args.description, expected_text=args.expected_text, role=args.role)
    write_text_atomic(args.out / "location.json", json_text(result.location))
    write_text_atomic(args.out / "exchanges.json", json_text(list(result.transcript)))
    write_text_atomic(args.out / "film.html", render_film(result.location, pictures))
    return result


def _said(result: LocatorResult) -> str:
    location = result.location
    calls = f"{count_of(location.calls, 'call')}, {count_of(location.candidates, 'candidate')}"
    if result.status != "found":
        return f"{result.status}: {location.reason} ({calls})"
    x, y, width, height = location.box or (0, 0, 0, 0)
    place = f"at {x:.0f},{y:.0f}, {width:.0f} x {height:.0f}"
    return f"found: {location.element} {place}, {100 * result.confidence:.1f} % sure ({calls})"


def _viewport(text: str) -> ViewportSize:
    width, _, height = text.lower().partition("x")
    if not (width.isdecimal() and height.isdecimal() and min(int(width), int(height)) >= 100):
        raise SettingsError(f"--viewport: {text!r} is not a size such as 1280x720")
    return {"width": int(width), "height": int(height)}
