"""The page of a run answers only those who hold its token and come from nowhere else."""

import http.client
from collections.abc import Iterator

import pytest
from made_up_run import CellKey, cell, save_run

from pytest_autoweb.tools.view.followed_run import FollowedRun
from pytest_autoweb.tools.view.view_server import POLICY, ViewServer, serve_in_thread

JPEG = b"\xff\xd8\xff-picture"
KEY = CellKey("login", "fake/a")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ViewServer]:
    folder = save_run(tmp_path_factory.mktemp("view") / "report", [cell(KEY, "failed")])
    place = folder / KEY.folder / "attempt-1"
    place.mkdir()
    (place / "step-1.jpg").write_bytes(JPEG)
    (place / "final.html").write_text("<script>alert(1)</script>")
    (folder / "index.html").write_text("<script>alert(1)</script>")
    (folder.parent / "elsewhere.jpg").write_bytes(JPEG)
    with ViewServer(FollowedRun(folder)) as server:
        server.run.look()
        serve_in_thread(server)
        yield server
        server.closed.set()
        server.shutdown()


def ask(
    server: ViewServer, path: str = "", *, token: str | None = None, **headers: str
) -> tuple[int, bytes, http.client.HTTPMessage]:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", f"/{server.token if token is None else token}/{path}", headers=given)
    answer = connection.getresponse()
    said = answer.status, answer.read(), answer.headers
    connection.close()
    return said


def test_the_page_runs_and_loads_only_what_is_its_own(server: ViewServer) -> None:
    status, body, headers = ask(server)

    assert (status, headers["content-security-policy"]) == (200, POLICY)
    assert b"<script>" not in body
    assert b" style=" not in body
    for name in (
        "view.js",
        "grid.js",
        "cell.js",
        "orders.js",
        "dom.js",
        "view.css",
        "base.css",
        "icon.svg",
    ):
        assert ask(server, name)[0] == 200, name


@pytest.mark.parametrize("path", ["", "events", "cell/1/0", "view.js", "report/index.html"])
@pytest.mark.parametrize("token", ["", "wrong", "wr%C3%B6ng"])
def test_without_the_token_nothing_is_answered(server: ViewServer, path: str, token: str) -> None:
    assert ask(server, path, token=token)[:2] == (403, b"the token is missing or wrong")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 421),
        ({"Host": "127.0.0.1"}, 421),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Sec_Fetch_Site": "cross-site"}, 403),
        ({"Sec_Fetch_Site": "same-site"}, 403),
        ({"Sec_Fetch_Site": "same-origin"}, 200),
    ],
)
def test_other_sites_are_refused(server: ViewServer, headers: dict[str, str], status: int) -> None:
    assert ask(server, "view.js", **headers)[0] == status


def test_its_own_origin_may_ask(server: ViewServer) -> None:
    for name in ("127.0.0.1", "localhost"):
        host = f"{name}:{server.server_port}"
        assert ask(server, Host=host, Origin=f"http://{host}")[0] == 200


@pytest.mark.parametrize(
    "name",
    [
        "attempt-1/final.html",
        "../../../../../elsewhere.jpg",
        "attempt-1/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/%2e%2e/elsewhere.jpg",
        "..%2f..%2f..%2f..%2f..%2felsewhere.jpg",
        "/etc/passwd",
        "attempt-1/none.jpg",
    ],
)
def test_only_pictures_of_the_cell_are_sent(server: ViewServer, name: str) -> None:
    epoch = server.run.epoch
    assert ask(server, f"picture/{epoch}/0/attempt-1/step-1.jpg")[:2] == (200, JPEG)
    assert ask(server, f"picture/{epoch}/0/{name}")[0] == 404
    assert ask(server, f"report/{KEY.folder}/{name}")[0] == 404
    assert ask(server, f"report/{name}")[0] == 404


@pytest.mark.parametrize("place", ["1", "-1", "x", "", "9" * 5000, "0/0", "%D9%A0"])
def test_a_cell_that_is_not_there_is_not_found(server: ViewServer, place: str) -> None:
    epoch = server.run.epoch
    assert ask(server, f"cell/{epoch}/0")[0] == 200
    assert ask(server, f"cell/{epoch - 1}/0")[0] == 404
    assert ask(server, f"cell/{epoch}/{place}")[0] == 404


def test_the_report_is_a_document_without_an_origin(server: ViewServer) -> None:
    status, _, headers = ask(server, "report/index.html", Sec_Fetch_Site="cross-site")

    assert (status, headers["content-security-policy"].split()[0]) == (200, "sandbox")
    assert "allow-same-origin" not in headers["content-security-policy"]


ORDER = b'{"order": "pause", "words": []}'


@pytest.mark.parametrize(
    ("changed", "body", "status", "said"),
    [
        ({"token": "wrong"}, ORDER, 403, "the token is missing or wrong"),
        ({"Origin": None}, ORDER, 403, "from the page of this server only"),
        ({"Origin": "http://evil.example"}, ORDER, 403, "other sites are refused"),
        ({"Origin": "null"}, ORDER, 403, "other sites are refused"),
        ({"Content-Type": "text/plain"}, ORDER, 415, "application/json"),
        ({"Content-Length": "99999999"}, ORDER, 413, "too large"),
        ({}, b"[" * 5000, 400, "has the fields order and words"),
        ({}, b'{"order": "pause", "words": [], "by": "me"}', 400, "has the fields"),
        ({}, b'{"order": "fly", "words": []}', 409, "there is no order 'fly'"),
        ({}, ORDER, 409, "does not go on any more: it ended with exit status 1"),
    ],
)
def test_an_order_is_refused_to_others_and_where_it_does_not_fit(
    server: ViewServer, changed: dict[str, str | None], body: bytes, status: int, said: str
) -> None:
    host = f"127.0.0.1:{server.server_port}"
    given = {"Host": host, "Origin": f"http://{host}", "Content-Type": "application/json"} | changed
    token = given.pop("token", server.token)
    headers = {name: value for name, value in given.items() if value is not None}
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    connection.request("POST", f"/{token}/orders", body, headers)
    answer = connection.getresponse()

    assert (answer.status, said in answer.read().decode()) == (status, True)
    assert not (server.run.folder / "steering.jsonl").exists()
    connection.close()
