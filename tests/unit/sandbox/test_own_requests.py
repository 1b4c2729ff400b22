"""Requests that code sends itself (`page.request`), and the files that it keeps and reads again.

The browser is made up here: what is looked at is what reaches it, and what the evidence is told.
"""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from made_up_facade import URL, FakeObject, FakeSandbox
from playwright.sync_api import Error

from pytest_autoweb.browser.egress.proxy import OWN_ANSWER
from pytest_autoweb.browser.egress.traffic_reader import REPLY_BYTES
from pytest_autoweb.sandbox.engine import SentRequest
from pytest_autoweb.sandbox.own_requests import REPLY_LIMITS, as_sent, whole_reply
from pytest_autoweb.sandbox.rules import Refusal
from pytest_autoweb.sandbox.size_limits import MAX_READ

KIND = "APIRequestContext"


class Sender(FakeObject):
    """Answers each request with 201."""

    def __init__(self) -> None:
        reply = SimpleNamespace(status=201, headers={"content-length": "2"})
        super().__init__(get=reply, post=reply, fetch=reply)


class RecordedSandbox:
    """A sandbox whose evidence is kept."""

    def __init__(self, folder: Path) -> None:
        self.sandbox = FakeSandbox(folder)
        self.sent: list[SentRequest] = []
        self.sandbox.border.sent = self.sent.append

    def send(self, method: str, /, *args: Any, **kwargs: Any) -> tuple[str, dict[str, Any]]:
        """What reached the browser."""
        sender = Sender()
        self.sandbox.call(method, *args, on=sender, kind=KIND, **kwargs)
        name, positional, named = self.sandbox.made(sender)
        assert positional == ()
        return name, named

    def refuse(self, method: str, /, *args: Any, **kwargs: Any) -> str:
        """Why nothing reached it; for a refusal its rule comes first."""
        sender = Sender()
        with pytest.raises((Refusal, TypeError)) as refused:
            self.sandbox.call(method, *args, on=sender, kind=KIND, **kwargs)
        assert (sender.calls, self.sent) == ([], [])
        return f"{getattr(refused.value, 'rule', '')} {refused.value}".strip()


@pytest.fixture
def told(tmp_path: Path) -> RecordedSandbox:
    return RecordedSandbox(tmp_path)


PLAIN = {"accept-encoding": "identity"}


@pytest.mark.parametrize(
    ("method", "args", "kwargs", "sent"),
    [
        ("get", ["/api"], {}, {"url": "http://shop.test/api", "headers": PLAIN}),
        ("get", [], {"url": "api"}, {"url": "http://shop.test/api", "headers": PLAIN}),
        (
            "fetch",
            [],
            {"url_or_request": "/api", "method": "PUT"},
            {"url_or_request": "http://shop.test/api", "method": "PUT", "headers": PLAIN},
        ),
        (
            "post",
            ["/api"],
            {"data": "x", "headers": {" Content-Type ": "text/plain", "X-Tab": "1"}},
            {
                "url": "http://shop.test/api",
                "data": "x",
                "headers": {" Content-Type ": "text/plain", "X-Tab": "1", **PLAIN},
            },
        ),
    ],
)
def test_a_request_goes_to_an_absolute_address_and_asks_for_no_packed_reply(
    told: RecordedSandbox,
    method: str,
    args: list[str],
    kwargs: dict[str, Any],
    sent: dict[str, Any],
) -> None:
    assert told.send(method, *args, **kwargs) == (method, sent)


@pytest.mark.parametrize(
    ("method", "kwargs", "reason"),
    [
        ("get", {"url": "http://evil.test/"}, "AW501 blocked: http://evil.test"),
        ("get", {}, "AW501 "),
        ("get", {"url": "/", "multipart": {}}, "page.request takes no 'multipart' here"),
        ("post", {"url": "/", "method": "GET"}, "the methods of fetch() are DELETE, GET, "),
        ("fetch", {"url": "/", "method": "TRACE"}, "the methods of fetch() are DELETE, GET, "),
        ("get", {"url": "/", "headers": ["accept"]}, "headers are a dict of texts"),
        ("get", {"url": "/", "headers": {"accept": "a", "Host": "b"}}, "AW504 the header 'Host'"),
        ("get", {"url": "/", "headers": {"Cookie": "a"}}, "AW504 the header 'Cookie' is set by"),
    ],
)
def test_what_a_page_could_not_send_is_refused(
    told: RecordedSandbox, method: str, kwargs: dict[str, Any], reason: str
) -> None:
    assert told.refuse(method, **kwargs).startswith(reason)


def test_the_evidence_is_told_of_each_request(told: RecordedSandbox) -> None:
    told.send("get", "/a?x=1", params={"q": "a b", "n": 2})
    told.send("post", "/a", params={"q": 1}, form={"name": "Ana", "age": 7})
    told.send("fetch", "/a")
    told.send("fetch", "/a", method="PATCH", data={"due": 1})

    at = "http://shop.test/a"
    assert told.sent == [
        SentRequest("GET", f"{at}?x=1&q=a+b&n=2", None, 201, "", URL),
        SentRequest("POST", f"{at}?q=1", "name=Ana&age=7", 201, "", URL),
        SentRequest("GET", at, None, 201, "", URL),
        SentRequest("PATCH", at, '{"due": 1}', 201, "", URL),
    ]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ({}, None),
        ({"data": "plain"}, "plain"),
        ({"data": b"caf\xc3\xa9 \xff"}, "café �"),
        ({"data": [1, "a"]}, '[1, "a"]'),
        ({"data": {"when": Path("a")}}, '{"when": "a"}'),
        ({"data": "ignored", "form": {}}, ""),
    ],
)
def test_a_body_is_told_as_text(data: dict[str, Any], text: str | None) -> None:
    assert as_sent({"url": "http://shop.test/", **data}) == ("http://shop.test/", text)
    assert as_sent({"url_or_request": "http://b.test/", **data}) == ("http://b.test/", text)


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (Error("socket hang up\nCall log:"), "socket hang up: "),
        (Error("read ECONNRESET"), "read ECONNRESET: "),
        (Error("no such host\nCall log:"), "no such host\nCall log:"),
        (RuntimeError("aborted"), "aborted"),
    ],
)
def test_a_request_without_a_reply_is_told_with_the_first_line_of_its_error(
    told: RecordedSandbox, error: Exception, shown: str
) -> None:
    class Failing(FakeObject):
        def get(self, **kwargs: Any) -> Any:
            raise error

    with pytest.raises(type(error)) as raised:
        told.sandbox.call("get", "/a", on=Failing(), kind=KIND)

    whole = str(raised.value)
    assert whole.startswith(shown) if shown.endswith(": ") else whole == shown
    first = str(error).splitlines()[0]
    assert told.sent == [SentRequest("GET", "http://shop.test/a", None, None, first, URL)]


# -- files -----------------------------------------------------------------------------


class Download(FakeObject):
    """Something the page handed out under a name of its choice."""

    def __init__(self, name: str, content: str = "hunter2") -> None:
        super().__init__()
        self.suggested_filename, self.content = name, content

    def save_as(self, path: Path) -> None:
        path.write_text(self.content)


@pytest.mark.parametrize(
    ("suggested", "kept"),
    [
        ("report.csv", "report.csv"),
        ("../../etc/pass wd", "etc_pass_wd"),
        ("a/b\\c:d.txt", "a_b_c_d.txt"),
        ("\uff0e\uff0e/\uff41.txt", "a.txt"),
        ("...", "download"),
        ("_.x._", "x"),
        ("x" * 200 + ".csv", "x" * 96 + ".csv"),
    ],
)
def test_a_download_is_kept_under_a_harmless_name_and_can_be_read(
    told: RecordedSandbox, tmp_path: Path, suggested: str, kept: str
) -> None:
    told.sandbox.border.redact = lambda text: text.replace("hunter2", "<secret:pw>")

    name = told.sandbox.call("path", on=Download(suggested), kind="Download")

    assert name == kept
    assert [path.name for path in tmp_path.iterdir()] == [kept]
    assert told.sandbox.call("$open", kept, kind="Sandbox") == b"<secret:pw>"


def test_only_files_that_the_code_saved_are_read(told: RecordedSandbox, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(__file__)
    full, beyond = tmp_path / "full.bin", tmp_path / "beyond.bin"
    for path, size in ((full, MAX_READ), (beyond, MAX_READ + 1)):
        with path.open("wb") as stream:
            stream.truncate(size)

    def read(*name: object) -> Any:
        return told.sandbox.call("$open", *name, kind="Sandbox")

    assert len(read("full.bin")) == MAX_READ
    for name in ("absent.csv", "folder", "link"):
        with pytest.raises(Error, match=f"there is no file '{name}'"):
            read(name)
    with pytest.raises(Error, match=r"'beyond\.bin' has more than the"):
        read("beyond.bin")
    for wrong in (["../cv.pdf"], [None], []):
        with pytest.raises(Refusal) as refused:
            read(*wrong)
        assert refused.value.rule == "AW502"


def replied(size: int, **headers: str) -> Any:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return SimpleNamespace(headers=named, body=lambda: b"x" * size, text=lambda: " refused \n")


def test_a_large_reply_has_to_say_where_it_ends() -> None:
    whole = [
        replied(REPLY_BYTES // 2),
        replied(REPLY_BYTES // 2 + 1, content_length="1"),
        replied(REPLY_BYTES // 2 + 1, transfer_encoding="chunked"),
    ]

    assert [whole_reply(reply) for reply in whole] == whole
    with pytest.raises(Error, match=re.escape(REPLY_LIMITS)):
        whole_reply(replied(REPLY_BYTES // 2 + 1))


def test_what_the_proxy_answers_is_an_error() -> None:
    with pytest.raises(Error, match=r"^refused$"):
        whole_reply(replied(1, **{OWN_ANSWER.lower(): "1"}))
