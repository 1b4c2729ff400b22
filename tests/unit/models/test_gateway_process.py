"""The gateway as a process: who may talk to it, how it starts and how it ends. No litellm here."""

import http.client
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from pytest_autoweb.base.child_process import StartFailed, start_owned
from pytest_autoweb.base.errors import ModelError
from pytest_autoweb.models.gateway import GatewayAddress, GatewayClient, start_gateway, stop_gateway
from pytest_autoweb.models.gateway_ahead import LOG_NAME, begin_gateway, drop_gateway


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayAddress]:
    folder = tmp_path_factory.mktemp("gateway")
    address = start_gateway({}, record_mode="none", cassettes=folder, run_dir=folder)
    yield address
    stop_gateway(address)
    stop_gateway(address)


def post(address: GatewayAddress, path: str, body: bytes, token: str | None = None) -> int:
    connection = http.client.HTTPConnection(address.host, address.port, timeout=60)
    headers = {"Authorization": f"Bearer {address.token if token is None else token}"}
    try:
        connection.request("POST", path, body, headers)
        return connection.getresponse().status
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("path", "body", "token", "status"),
    [
        ("/stats", b"", None, 200),
        ("/stats", b"", "", 401),
        ("/complete", b"{}", "wrong", 401),
        ("/complete", b"{}", None, 400),
        ("/complete", b"\xff\x00", None, 400),
        ("/complete", b'{"model": "openai/plain", "command": "rm"}', None, 400),
        ("/shutdown", b"", None, 404),
    ],
)
def test_only_wellformed_requests_with_the_token_are_answered(
    gateway: GatewayAddress, path: str, body: bytes, token: str | None, status: int
) -> None:
    assert post(gateway, path, body, token) == status


def test_a_request_that_claims_to_be_huge_is_refused_unread(gateway: GatewayAddress) -> None:
    connection = http.client.HTTPConnection(gateway.host, gateway.port, timeout=60)
    connection.putrequest("POST", "/complete")
    connection.putheader("Authorization", f"Bearer {gateway.token}")
    connection.putheader("Content-Length", str(10**12))
    connection.endheaders()

    assert connection.getresponse().status == 413

    connection.close()


def test_the_token_is_not_in_the_process_list(gateway: GatewayAddress) -> None:
    listed = subprocess.run(
        ["ps", "-A", "-ww", "-o", "args"], capture_output=True, text=True, check=True
    )

    assert "gateway_process" in listed.stdout
    assert gateway.token not in listed.stdout
    assert gateway.token not in repr(gateway)


OWNER = """
import os, sys
from pathlib import Path
from pytest_autoweb.models.gateway import start_gateway
address = start_gateway({}, record_mode="none", cassettes=Path("c"), run_dir=Path("run"))
print(address, flush=True)
sys.stdin.read()
"""


def test_the_gateway_dies_with_its_owner(tmp_path: Path) -> None:
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONSAFEPATH": "1"},
    )
    assert owner.stdout is not None
    client = GatewayClient(GatewayAddress.parse(owner.stdout.readline().strip()))

    assert client.stats().models == {}

    owner.kill()
    owner.wait()

    assert "gateway process is gone" in last_words(client)


def last_words(client: GatewayClient) -> str:
    """What the client says once the gateway has ended."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            client.stats()
        except ModelError as error:
            return error.detail
        time.sleep(0.05)
    return "the gateway outlived its owner"


def test_a_process_that_does_not_start_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match="No module named"):
        start_owned(
            "pytest_autoweb.absent", {}, environ=os.environ, log=tmp_path / "x.log", timeout=30
        )


def children() -> set[psutil.Process]:
    return set(psutil.Process().children())


@pytest.mark.parametrize(("later", "used"), [({}, True), ({"OPENAI_API_KEY": "set-later"}, False)])
def test_a_gateway_that_was_begun_is_used_unless_the_environment_changed_since(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, later: dict[str, str], used: bool
) -> None:
    before = children()
    begin_gateway(tmp_path, os.environ)
    (begun,) = children() - before
    for name, value in later.items():
        monkeypatch.setenv(name, value)
    address = start_gateway({}, record_mode="none", cassettes=tmp_path, run_dir=tmp_path)
    try:
        assert begun.is_running() is used
        assert GatewayClient(address).stats().spent_usd == 0.0
    finally:
        stop_gateway(address)
        drop_gateway(tmp_path)
    assert children() <= before


def test_a_gateway_that_is_not_needed_leaves_nothing(tmp_path: Path) -> None:
    before = children()
    begin_gateway(tmp_path, os.environ)
    drop_gateway(tmp_path)

    assert children() <= before
    assert (tmp_path / LOG_NAME).read_text(encoding="utf-8") == ""


def test_an_address_survives_being_plain_text() -> None:
    address = GatewayAddress("127.0.0.1", 1234, "to-ken_")

    assert GatewayAddress.parse(str(address)) == address
    assert json.loads(json.dumps(str(address))) == str(address)
