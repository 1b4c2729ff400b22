"""One gateway for all processes of a session, also when it is killed in between."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from openai_server import Answer, OpenAIServer

from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.gateway import (
    ADDRESS_FILE,
    GatewayAddress,
    SharedGateway,
    read_address,
    start_gateway,
    stop_shared_gateway,
)
from pytest_autoweb.models.messages import Message, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.spending import LEDGER_FILE, Price

CENT = ModelSpec(name="openai/cent", input_cost_per_mtok=0.0, output_cost_per_mtok=10_000.0)
"""A reply of seven tokens costs seven cents, and may have cost ten."""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path
    stop_shared_gateway(tmp_path)


def shared(folder: Path, max_cost: float | None = None) -> SharedGateway:
    """The gateway as one process of a session sees it."""
    start = partial(
        start_gateway,
        record_mode="off",
        cassettes=folder,
        run_dir=folder,
        backoff_s=0.01,
        lasting=True,
        owner_pid=os.getpid(),
        max_cost=max_cost,
    )
    return SharedGateway(folder, start)


def ask(model: str, max_tokens: int = 10) -> Request:
    return Request(
        model=model,
        messages=(Message(role="user", content="hi"),),
        stage="plan",
        max_tokens=max_tokens,
    )


def kill_gateway(folder: Path) -> None:
    """Kill the one that this process started, and wait until it is gone."""
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "ppid=,pid=,args="], capture_output=True, text=True, check=True
    )
    rows = [line.split(None, 2) for line in listed.stdout.splitlines()]
    (pid,) = [row[1] for row in rows if row[0] == str(os.getpid()) and "gateway_process" in row[2]]
    address = read_address(folder)
    assert address is not None
    os.kill(int(pid), signal.SIGKILL)
    assert ended(address)


STARTER = """
import sys
from functools import partial
from pathlib import Path
from pytest_autoweb.models.gateway import start_gateway
from pytest_autoweb.models.gateway import SharedGateway
folder, owner = Path(sys.argv[1]), int(sys.argv[2])
start = partial(start_gateway, record_mode="off", cassettes=folder, run_dir=folder,
                lasting=True, owner_pid=owner)
gateway = SharedGateway(folder, start)
gateway.check(["openai/unknown"])
print((folder / "gateway.json").read_text())
"""


@pytest.mark.long
def test_processes_that_need_it_at_once_start_one_gateway_that_outlives_them(folder: Path) -> None:
    children = [
        subprocess.Popen(
            [sys.executable, "-c", STARTER, str(folder), str(os.getpid())],
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]
    addresses = {child.communicate(timeout=60)[0] for child in children}

    assert len(addresses) == 1
    assert shared(folder).stats().models == {}
    assert (folder / ADDRESS_FILE).stat().st_mode & 0o777 == 0o600

    address = read_address(folder)
    stop_shared_gateway(folder)

    assert address is not None
    assert ended(address)
    assert read_address(folder) is None


def ended(address: GatewayAddress) -> bool:
    """Whether nothing listens there any more, soon."""
    for _ in range(200):
        try:
            socket.create_connection((address.host, address.port), timeout=1).close()
        except OSError:
            return True
        time.sleep(0.05)
    return False


def test_models_are_added_while_it_runs_and_each_try_is_charged_as_far_as_it_may_be_billed(
    folder: Path,
) -> None:
    scripts = {"slow": [Answer("late", delay=1.0)], "401": [Answer(status=401)]}
    with OpenAIServer([Answer("hello")], by_model=scripts) as server:
        first, second = shared(folder, 1.0), shared(folder, 1.0)
        first.add(ModelSpec(name="openai/a", api_base=server.api_base))
        first.check(["openai/a"])
        cent = CENT.model_dump(exclude={"name"}) | {"api_base": server.api_base}
        second.add(ModelSpec(name="openai/cent", **cent), ModelSpec(name="openai/401", **cent))
        second.add(ModelSpec(name="openai/slow", **cent | {"timeout": 0.2}))

        assert second.complete(ask("openai/cent")).text == "hello"
        assert first.prices(["openai/cent", "openai/a"]) == {
            "openai/cent": Price(input_usd=0.0, output_usd=0.01),
            "openai/a": None,
        }
        for model in ("openai/401", "openai/slow", "openai/never-added"):
            with pytest.raises(ModelError):
                second.complete(ask(model))
        # Three tries ran into their timeout; the service may have worked, and bill, for each.
        assert first.stats().spent_usd == pytest.approx(0.07 + 3 * 0.10)


def test_parallel_calls_of_two_processes_never_exceed_the_cap_even_when_it_is_killed(
    folder: Path,
) -> None:
    with OpenAIServer([Answer("ok", delay=0.02)]) as server:
        workers = [shared(folder, 0.60), shared(folder, 0.60)]
        for worker in workers:
            worker.add(CENT.model_copy(update={"api_base": server.api_base}))
        outcomes: list[str] = []

        def work(gateway: SharedGateway) -> None:
            for _ in range(3):
                try:
                    outcomes.append(gateway.complete(ask(CENT.name)).text)
                except ModelError as error:
                    outcomes.append(error.cause)

        def all_at_once() -> None:
            threads = [threading.Thread(target=work, args=(w,)) for w in workers for _ in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        workers[0].check([CENT.name])
        (folder / LEDGER_FILE).write_text('{"spent": 0.05, "reserved": 0.02, "refused": 1}')
        kill_gateway(folder)
        all_at_once()
        stats = workers[1].stats()
        spent = 0.07 + 0.07 * len(server.requests)

    assert stats.max_cost_usd == 0.60
    assert stats.spent_usd == pytest.approx(spent)
    assert spent <= 0.60
    # 0.07 were gone before; 0.07 for each call, and 0.10 must be left for the next.
    assert outcomes.count("ok") == 7
    assert set(outcomes) == {"ok", "budget"}
    assert (stats.refused_calls, stats.reserved_usd) == (6, 0.0)


def test_nothing_is_started_to_tell_that_nothing_was_spent(folder: Path) -> None:
    gateway = shared(folder, 1.0)

    assert gateway.stats().spent_usd == 0
    assert not gateway.is_started
