"""The model that a command asks: how it is named, limited and called, and what it cost."""

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_autoweb.base.errors import RegistrationError, SettingsError
from pytest_autoweb.cli.arguments import add_max_cost, add_models_file, tell_progress
from pytest_autoweb.models.client import Client
from pytest_autoweb.models.gateway import temporary_gateway
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import load_project_specs
from pytest_autoweb.report.wording import count_of, money
from pytest_autoweb.results.analysis.cell_numbers import Cost
from pytest_autoweb.results.records import Usage
from pytest_autoweb.session.project_variants import project_variants


def add_model_arguments(
    parser: argparse.ArgumentParser, *, required: bool = True, use: str = "is asked"
) -> None:
    """Declare `--model` and what belongs to it.

    Args:
        parser: of the command.
        required: whether the model must be given.
        use: what it does, for the help.
    """
    parser.add_argument("--model", required=required, metavar="NAME", help=f"the model that {use}")
    add_models_file(parser)
    add_max_cost(parser, "all calls together")


@contextmanager
def asked_model(args: argparse.Namespace) -> Iterator[tuple[Client, ModelSpec]]:
    """Yield a client and the model that the arguments name.

    A client of the project (`pytest_autoweb_client` in a conftest) comes first, as in a test run.

    Raises:
        SettingsError: there is no such model, or it is a control.
    """
    if args.model.startswith("builtin/"):
        raise SettingsError(f"{args.model} is a control and writes nothing; name a model")
    spec = load_project_specs((args.model,), Path(), args.models_file)[args.model]
    with ExitStack() as stack:
        own: Client | None = None
        try:
            own = stack.enter_context(project_variants())(spec)
        except RegistrationError as error:
            # What is asked and what runs may need nothing of the project.
            tell_progress(f"no client of a conftest is used, for none could be read: {error}")
        if own is None:
            gateway = stack.enter_context(temporary_gateway(args.max_cost))
            gateway.add(spec)
        yield own or gateway, spec


def spent(usage: Usage) -> str:
    """Return what calls cost, as far as it is known."""
    cost = Cost(usd=usage.cost_usd, complete=not usage.unpriced_calls)
    tokens = f"{usage.input_tokens:,} + {usage.output_tokens:,} tokens"
    return f"{count_of(usage.calls, 'call')}, {tokens}, cost: {money(cost, usage.calls)}"
