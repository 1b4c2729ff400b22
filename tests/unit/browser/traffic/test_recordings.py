"""What a recording says to a request, what never gets into one, and what its file must be."""

import gzip
import http.client
import json
import socket
from base64 import b64encode
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from local_site import Site

from pytest_autoweb.base.errors import CaseError, TrafficError
from pytest_autoweb.browser.egress.proxy import EgressProxy
from pytest_autoweb.browser.egress.request_policy import OriginPolicy
from pytest_autoweb.browser.egress.traffic_reader import HttpAnswer, HttpRequest, TrafficReader
from pytest_autoweb.browser.traffic import cell_traffic
from pytest_autoweb.browser.traffic.cell_traffic import CellTraffic, PlayedTraffic, TrafficFile
from pytest_autoweb.browser.traffic.traffic_file import (
    RecordedExchange,
    Take,
    TrafficRecording,
    add_take,
    read_traffic,
)
from pytest_autoweb.browser.traffic.traffic_masks import TrafficMasks
from pytest_autoweb.browser.traffic.traffic_rules import TrafficMode, TrafficRules
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cell.cell_recording import traffic_path

SHOP = "https://shop.example"
FORM = "application/x-www-form-urlencoded"


def exchange(line: str, says: str, body: str = "", destination: str = "document") -> Any:
    method, _, path = line.partition(" ")
    return RecordedExchange(
        *(method, f"{SHOP}{path}", 200),
        request_body=body,
        request_type=FORM,
        body=says.encode(),
        is_text=True,
        destination=destination,
    )


def played(rules: dict[str, Any], *takes: list[Any]) -> Callable[..., str]:
    """Ask a recording, as a browser would; the answer, or why there is none."""
    recording = TrafficRecording("x", tuple(Take("t", tuple(take)) for take in takes))
    kept = TrafficRules.model_validate(rules)
    traffic = PlayedTraffic(recording, kept, TrafficMasks({}))

    def ask(line: str, body: str = "", destination: str = "document") -> str:
        method, _, path = line.partition(" ")
        headers = (("Sec-Fetch-Dest", destination), ("Content-Type", FORM))
        said = traffic.play(HttpRequest(method, f"{SHOP}{path}", headers, body.encode()))
        if said.exchange:
            return said.exchange.body.decode()
        return said.left.replace(SHOP, "") or "done without"

    return ask


def test_pages_are_played_as_they_were_after_the_same_writes() -> None:
    kettle = [
        exchange("GET /cart", "empty"),
        exchange("GET /cart", "still empty"),
        exchange("GET /logo.png", "logo", destination="image"),
        exchange("POST /add", "added", "item=kettle&csrf=1"),
        exchange("GET /cart", "one kettle"),
    ]
    teapot = [
        exchange("GET /cart", "empty, seen by another"),
        exchange("POST /add", "added", "item=teapot&csrf=2"),
        exchange("GET /cart", "one teapot"),
    ]

    ask = played({}, kettle, teapot)
    assert [ask("GET /cart") for _ in range(3)] == ["empty", "still empty", "still empty"]
    assert ask("POST /add", "csrf=9&item=teapot") == "added"
    assert ask("GET /cart") == "one teapot"
    # Parts of pages are the same at any time, and a missing picture decides nothing.
    assert ask("GET /logo.png", destination="image") == "logo"
    assert ask("GET /other.png", destination="image") == "done without"
    again = "POST /add was recorded only after other writes than those made here"
    assert ask("POST /add", "item=teapot") == again
    assert ask("POST /add", "item=pan") == "POST /add was recorded with another query or body only"
    assert ask("GET /checkout") == "GET /checkout is not in the recording"

    # Nothing is known of what the site says after both.
    both = played({}, kettle, teapot)
    both("POST /add", "item=kettle")
    assert both("POST /add", "item=teapot").endswith("after other writes than those made here")

    free = played({"order": "any"}, kettle, teapot)
    assert [free("GET /cart") for _ in range(4)][2:] == ["one kettle", "one kettle"]
    assert [free("POST /add", "item=kettle") for _ in range(2)] == ["added", "added"]


def test_rules_say_which_requests_are_the_same() -> None:
    rules = {
        "reads": ["POST /graphql"],
        "ignore_query": ["t"],
        "ignore_body": ["at"],
    }
    take = [
        exchange("GET /list?b=2&a=1&t=5&_=7", "list"),
        exchange("POST /graphql", "first", "query=q&at=1"),
        exchange("POST /pay", "paid"),
    ]
    ask = played(rules, take)
    assert ask("GET /list?a=1&b=2&t=9&_=1") == "list"
    assert ask("GET /list?a=1&b=3").endswith("another query or body only")
    assert [ask("POST /graphql", "at=2&query=q") for _ in range(2)] == ["first"] * 2
    assert ask("POST /pay") == "paid"

    kept = TrafficRules.model_validate(
        {
            "hold": [
                "POST /checkout",
                {"request": "PUT **/pay", "status": 303, "headers": {"a": "b"}},
            ],
            "ignore": ["https://stats.example/**"],
        }
    )
    page = kept.held(HttpRequest("POST", f"{SHOP}/checkout?x=1", (("Accept", "text/html"),)))
    data = kept.held(HttpRequest("POST", f"{SHOP}/checkout", (("Sec-Fetch-Dest", "empty"),)))
    to = kept.held(HttpRequest("PUT", f"{SHOP}/api/pay"))
    assert page is not None
    assert b"held back and did not reach the site: POST /checkout" in page.body
    assert data is not None
    assert (data.status, data.body) == (200, b"{}")
    assert to == HttpAnswer(303, "Held back", (("a", "b"),))
    assert kept.held(HttpRequest("GET", f"{SHOP}/checkout")) is None
    assert kept.ignores("POST", "https://stats.example/a/b?c")
    assert not kept.ignores("GET", f"{SHOP}/stats")


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("hold: [post /checkout]", "must begin with a method such as POST, got 'post'"),
        ("ignore: [beacon]", "must name a path such as /checkout"),
        ("mode: play", "mode"),
        ("hold: [{request: /x, status: 99}]", "status"),
    ],
)
def test_a_mistake_in_the_rules_is_told_before_anything_runs(
    tmp_path: Path, field: str, says: str
) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(
        "version: 1\ncases:\n  - id: a\n    entry_url: http://a.example\n    user_task: x\n"
        f"    traffic: {{{field}}}\n"
    )

    with pytest.raises(CaseError, match=r"a\.yaml:6: (.|\n)*traffic") as caught:
        load_case_file(file)

    assert says in str(caught.value)


SECRETS = st.text('abcdefghijklmnopqrstuvwxyz0123456789 +/&"<é', min_size=8, max_size=30).filter(
    lambda text: text.strip() == text and len(set(text)) > 3
)


@given(
    password=SECRETS,
    declared=SECRETS,
    token=SECRETS,
    form=st.sampled_from(("form", "json", "parts")),
)
def test_what_is_typed_into_a_login_never_reaches_a_recording(
    password: str, declared: str, token: str, form: str
) -> None:
    fields = {"who": "ana", "password": password, "mail": declared}
    kind, body = FORM, urlencode(fields)
    if form == "json":
        kind, body = "application/json", json.dumps({"user": fields})
    elif form == "parts":
        kind = "multipart/form-data; boundary=b"
        parts = (
            f'--b\r\nContent-Disposition: form-data; name="{n}"\r\n\r\n{v}\r\n'
            for n, v in fields.items()
        )
        body = "".join((*parts, "--b--\r\n"))
    request = HttpRequest(
        *("POST", f"{SHOP}/login?token={quote(token)}&mail={quote(declared)}"),
        (
            ("Content-Type", kind),
            ("Authorization", "Bearer abcdefgh12345"),
            ("Cookie", "sid=q1w2e3r4t5y6"),
        ),
        body.encode(),
    )
    says = f'<input name="csrf" value="zz11yy22xx33"><a href="?sid=q1w2e3r4t5y6">{declared[:0]}'
    answer = HttpAnswer(
        200,
        "OK",
        (("Content-Type", "text/html"), ("Set-Cookie", "sid=n0n0n0n0n0n1; Path=/")),
        says.encode(),
    )
    masks = TrafficMasks({"mail": declared})
    masks.learn_request(request)
    masks.learn_answer(answer)

    kept = json.dumps(
        [
            masks.url(request.url),
            masks.headers(request.headers),
            masks.request_body(request),
            masks.headers(answer.headers),
            masks.answer_text(says, "text/html"),
        ],
        ensure_ascii=False,
    )
    for known in ("abcdefgh12345", "q1w2e3r4t5y6", "zz11yy22xx33", "n0n0n0n0n0n1"):
        assert known not in kept
    for secret in (password, declared, token):
        for spelled in (secret, quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]):
            assert spelled not in kept


def test_all_workers_of_a_run_record_into_one_file_which_a_later_run_begins_anew(
    tmp_path: Path,
) -> None:
    file = tmp_path / "a/b.har"
    logo = exchange("GET /logo.png", "logo", destination="image")

    def record(number: int, run: str = "one") -> str:
        take = Take(f"cell {number}", (exchange(f"GET /{number}", "page"), logo))
        return add_take(file, "b", run, take, [f"field{number}"])

    with ThreadPoolExecutor(6) as pool:
        assert set(pool.map(record, range(12))) == {""}

    recording = read_traffic(file)
    assert {take.title for take in recording.takes} == {f"cell {n}" for n in range(12)}
    # What all pages share is kept once.
    assert [len(take.exchanges) for take in recording.takes] == [2] + [1] * 11
    assert len(recording.password_fields) == 12

    # Unless it is to extend it.
    more = Take("cell 98", (exchange("GET /98", "page"),))
    add_take(file, "b", "two", more, [], extends=True)
    assert len(read_traffic(file).takes) == 13
    record(99, "three")
    assert [take.title for take in read_traffic(file).takes] == ["cell 99"]
    assert read_traffic(file).checksum != recording.checksum


def test_files_of_other_tools_are_read_and_broken_ones_are_told(tmp_path: Path) -> None:
    file = tmp_path / "a.har"
    request = {"method": "GET", "url": f"{SHOP}/a", "headers": []}
    content = {"text": b64encode(b"\x00\xff").decode(), "encoding": "base64"}
    entry = {"request": request, "response": {"status": 200, "headers": [], "content": content}}
    file.write_text(json.dumps({"log": {"version": "1.2", "entries": [entry]}}))
    (take,) = read_traffic(file).takes
    assert (take.exchanges[0].body, take.exchanges[0].url) == (b"\x00\xff", f"{SHOP}/a")

    for broken in ("", "{}", '{"log": {"entries": [{}]}}', '{"log": []}', "[" * 99_999):
        file.write_text(broken)
        with pytest.raises(TrafficError, match=r"a\.har is damaged or no HAR file .*record"):
            read_traffic(file)
    file.write_text('{"log": {"_autoweb": {"version": 2}, "entries": []}}')
    with pytest.raises(TrafficError, match="is of version 2, this pytest-autoweb reads 1"):
        read_traffic(file)
    with pytest.raises(TrafficError, match="is of version 2"):
        add_take(file, "a", "run", take, [], extends=True)
    with pytest.raises(TrafficError, match="there is no recording"):
        read_traffic(tmp_path / "none.har")


def test_each_case_has_a_file_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "cases/traffic"

    def shown(case: Path | None) -> str:
        return traffic_path(folder, tmp_path, case, "buy").relative_to(folder).as_posix()

    assert shown(tmp_path / "cases/eu/shop.yaml") == "eu/shop/buy.har"
    assert shown(tmp_path / "other/shop.yaml") == "other/shop/buy.har"
    assert shown(Path("/elsewhere/shop.yaml")) == "shop/buy.har"
    assert shown(None) == "inline/buy.har"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    site = Site()
    yield site
    site.close()


def asked(proxy: EgressProxy, site: Site, paths: list[str]) -> list[tuple[int, bytes]]:
    """Ask as a browser does, for each path on a connection of its own."""
    pair = f"{proxy.settings['username']}:{proxy.settings['password']}"
    login = {"Proxy-Authorization": f"Basic {b64encode(pair.encode()).decode()}"}
    said = []
    for path in paths:
        connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        headers = {"If-None-Match": "x", "Range": "bytes=0-1", **login}
        connection.request("GET", f"{site.url}{path}", headers=headers)
        answer = connection.getresponse()
        said.append((answer.status, answer.read()))
        connection.close()
    return said


def test_what_plain_http_says_is_kept_within_limits_and_said_again(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cell_traffic, "BODY_BYTES", 1_000)
    site.put("/packed", "")
    site.replies["/packed"] = (200, {"content-encoding": "gzip"}, gzip.compress(b"unpacked"))
    site.replies["/large"] = (200, {"content-type": "image/png"}, b"x" * 3_000)
    site.replies["/latin"] = (200, {"content-type": "text/plain; charset=latin-1"}, b"caf\xe9")
    site.replies["/to"] = (302, {"location": f"{site.url}packed?token=abc12345"}, b"")
    paths = ["packed", "large", "latin", "to"]
    file = TrafficFile(tmp_path / "a.har", "a", "run", "cell")

    def run(mode: TrafficMode) -> tuple[CellTraffic, list[tuple[int, bytes]], list[str]]:
        notes: list[str] = []
        traffic = CellTraffic(mode, TrafficRules(), file, {}, notes.append)
        policy = OriginPolicy(site.url)
        reader = TrafficReader(traffic)
        with EgressProxy(policy, notes.append, traffic=reader) as proxy:
            said = asked(proxy, site, paths)
        traffic.save()
        return traffic, said, notes

    _, live, _ = run("record")
    assert live == [(200, b"unpacked"), (200, b"x" * 3_000), (200, b"caf\xe9"), (302, b"")]
    hits = len(site.hits)
    traffic, again, notes = run("replay")

    assert [live[0], *live[2:]] == [again[0], *again[2:]]
    assert again[1][0] == 504
    assert traffic.left == "GET /large was not kept: it has more than 1,000 bytes"
    assert notes == [f"traffic: off the record: {traffic.left}"]
    assert len(site.hits) == hits
    assert "abc12345" not in file.path.read_text()


def test_an_open_port_of_the_reader_serves_nobody_else(site: Site, tmp_path: Path) -> None:
    file = TrafficFile(tmp_path / "a.har", "a", "run", "cell")
    traffic = CellTraffic("record", TrafficRules(), file, {}, lambda text: None)
    reader = TrafficReader(traffic)
    with EgressProxy(OriginPolicy(site.url), lambda origin: None, traffic=reader):
        (port,) = reader._ports.values()
        with socket.create_connection(("127.0.0.1", port), timeout=5) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            with suppress(ConnectionResetError):
                assert stranger.recv(100) == b""
    assert site.hits == []
