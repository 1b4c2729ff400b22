"""What single calls of generated code may be given: addresses, file names, uploads, secrets."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from msgspec.structs import replace

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.sandbox import cell_files, page_addresses, size_limits, typed_secrets
from pytest_autoweb.sandbox.engine import SandboxBorder
from pytest_autoweb.sandbox.rules import Refusal

HERE = "http://shop.test/cart/list"


@pytest.fixture
def border(tmp_path: Path) -> SandboxBorder:
    return SandboxBorder(
        page=cast(Any, object()),
        artifacts=tmp_path / "artifacts",
        secrets={"password": "hunter2-hunter2", "user": "ana-lee"},
        allowed=lambda url: url.startswith("http://shop.test/"),
        secret_allowed=lambda url: url.startswith("http://shop.test/"),
        files={"cv.pdf": tmp_path / "files" / "cv.pdf", "a.txt": tmp_path / "a.txt"},
        redact=Redactor({"password": "hunter2-hunter2"}),
    )


@contextmanager
def refused(rule: str, reason: str | None = None) -> Iterator[Any]:
    with pytest.raises(Refusal, match=reason) as raised:
        yield raised
    assert raised.value.rule == rule


# -- addresses -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "absolute"),
    [
        ("http://shop.test/a?q=1#b", "http://shop.test/a?q=1#b"),
        ("/pay", "http://shop.test/pay"),
        ("pay", "http://shop.test/cart/pay"),
        ("  /pay\u2003", "http://shop.test/pay"),
        ("http:///pay", "http://shop.test/pay"),
        ("about:blank", "about:blank"),
        ("http://shop.test/" + "a" * 3983, "http://shop.test/" + "a" * 3983),
    ],
)
def test_an_allowed_address_becomes_absolute(
    url: str, absolute: str, border: SandboxBorder
) -> None:
    assert page_addresses.allowed_url(url, HERE, border) == absolute


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        (None, "goto takes a URL as text"),
        (b"http://shop.test/", "goto takes a URL as text"),
        ("http://shop.test/" + "a" * 3984, "goto takes a URL as text"),
        ("http:\\\\shop.test", "characters that no URL may contain"),
        ("http://shop.test/\x00", "characters that no URL may contain"),
        ("/a\tb", "characters that no URL may contain"),
        ("http://[shop", "cannot be read"),
        ("javascript:alert(1)", "'javascript:alert.1.' is not http or https"),
        ("file:///etc/passwd", "is not http or https"),
        ("ftp://shop.test/", "is not http or https"),
        ("data:hunter2-hunter2", "'data:<secret:password>' is not http or https"),
        ("http://ana@shop.test/", "a URL with a user name in it is refused"),
        ("http://@shop.test/", "a URL with a user name in it is refused"),
        ("http://evil.test/a", r"^blocked: http://evil\.test \(add it to allowed_origins\)$"),
        ("//evil.test", r"blocked: http://evil\.test "),
        ("https://hunter2-hunter2.test/", "blocked: https://<secret:password>.test"),
    ],
)
def test_any_other_address_is_refused(url: object, reason: str, border: SandboxBorder) -> None:
    with refused("AW501", reason):
        page_addresses.allowed_url(url, HERE, border)


def test_an_address_of_a_new_tab_is_one_of_the_page_under_test(border: SandboxBorder) -> None:
    page = cast(Any, SimpleNamespace(url=HERE))

    opened = page_addresses.allowed_url("pay", "about:blank", replace(border, page=page))

    assert opened == "http://shop.test/cart/pay"


def test_a_refused_address_is_shown_in_part(border: SandboxBorder) -> None:
    with refused("AW501") as raised:
        page_addresses.allowed_url("x:" + "a" * 500, HERE, border)
    assert raised.value.reason == f"'x:{'a' * 198}' is not http or https"


# -- files -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["report.csv", "a", "über.txt", "a (1).png", "console.log", "com10", "x" * 121, "a.b.c"],
)
def test_a_bare_name_stays(name: str) -> None:
    assert cell_files.bare_name(name) == name


def test_a_bare_name_has_one_form() -> None:
    assert cell_files.bare_name("ｒeport.csv") == "report.csv"


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", ".hidden", "a/b", "../a", "a\\b", "/etc/passwd", "a\0b", "a:b", "a*"),
        *("a.", "a ", "con", "CON.txt", "com1", "lpt9.log", "nul", "x" * 122, "ａ／ｂ"),
    ],
)
def test_a_name_that_is_not_bare_is_refused(name: str) -> None:
    with refused("AW502", "is not a bare file name; give one such as 'report.csv'"):
        cell_files.bare_name(name)


def test_a_name_is_text_and_shown_in_part() -> None:
    with refused("AW502", "a file name must be text"):
        cell_files.bare_name(7)
    with refused("AW502", f"^'{'x' * 80}' is not"):
        cell_files.bare_name("x" * 200)


def test_a_file_is_written_into_the_folder_of_the_cell(border: SandboxBorder) -> None:
    path = cell_files.artifact_path("shot.png", border)
    path.write_text("x")

    assert path == Path(border.artifacts) / "shot.png"
    assert cell_files.artifact_path("shot.png", border) == path


def test_a_folder_or_a_link_is_not_written_to(border: SandboxBorder, tmp_path: Path) -> None:
    folder = Path(border.artifacts)
    (folder / "deep").mkdir(parents=True)
    (folder / "link.png").symlink_to(tmp_path / "elsewhere.png")

    for name in ("deep", "link.png"):
        with refused("AW502", f"^'{name}' cannot be overwritten$"):
            cell_files.artifact_path(name, border)


def test_the_hundredth_file_is_the_last(border: SandboxBorder) -> None:
    for number in range(99):
        cell_files.artifact_path(f"{number}.png", border).touch()

    cell_files.artifact_path("last.png", border).touch()

    with refused("AW505", "the attempt wrote more than 100 files"):
        cell_files.artifact_path("more.png", border)


def test_a_saved_file_of_the_largest_size_stays(border: SandboxBorder, tmp_path: Path) -> None:
    path = tmp_path / "large.bin"
    with path.open("wb") as stream:
        stream.truncate(cell_files.MAX_SAVED_BYTES)

    cell_files.keep_saved(None, path, border)

    assert path.stat().st_size == cell_files.MAX_SAVED_BYTES


# -- uploads ---------------------------------------------------------------------------


def test_files_that_the_case_lists_may_be_uploaded(border: SandboxBorder) -> None:
    cv, text = str(border.files["cv.pdf"]), str(border.files["a.txt"])

    assert cell_files.allowed_uploads("cv.pdf", border) == [cv]
    assert cell_files.allowed_uploads(["cv.pdf", "a.txt"], border) == [cv, text]
    assert cell_files.allowed_uploads(("a.txt",), border) == [text]
    assert cell_files.allowed_uploads([], border) == []


def test_any_other_file_is_refused_and_the_listed_ones_are_named(border: SandboxBorder) -> None:
    with refused("AW502", r"^the case lists no file 'b\.txt' \(files: a\.txt, cv\.pdf\)$"):
        cell_files.allowed_uploads("b.txt", border)
    with refused("AW502", "is not a bare file name"):
        cell_files.allowed_uploads("../a.txt", border)
    border.files = {}
    with refused("AW502", r"\(files: none\)$"):
        cell_files.allowed_uploads("a.txt", border)


def test_bytes_that_the_code_made_may_be_uploaded(border: SandboxBorder) -> None:
    made = {"name": "ｎote.txt", "mimeType": "text/plain", "buffer": b"hello"}
    plain = {"name": "note", "buffer": b"x" * cell_files.MAX_UPLOAD_BYTES}

    assert cell_files.allowed_uploads(made, border) == [{**made, "name": "note.txt"}]
    assert cell_files.allowed_uploads([plain], border) == [
        {**plain, "mimeType": "application/octet-stream"}
    ]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        ({"name": "a", "buffer": "text"}, "needs a `buffer` of at most 2 MB"),
        ({"name": "a"}, "needs a `buffer` of at most 2 MB"),
        ({"name": "a", "buffer": b"x" * 2_000_001}, "needs a `buffer` of at most 2 MB"),
        ({"name": "a", "buffer": b"", "mimeType": "text"}, "needs a plain `mimeType`"),
        ({"name": "a", "buffer": b"", "mimeType": "a/b\r\nc: d"}, "needs a plain `mimeType`"),
        ({"name": "a", "buffer": b"", "mimeType": 7}, "needs a plain `mimeType`"),
        ({"name": "a/b", "buffer": b""}, "is not a bare file name"),
        ({"buffer": b""}, "a file name must be text"),
        (7, "uploads are names of files that the case lists, or {name, buffer}"),
    ],
)
def test_any_other_upload_is_refused(made: object, reason: str, border: SandboxBorder) -> None:
    with refused("AW502", reason):
        cell_files.allowed_uploads([made], border)


# -- secrets ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("<secret:password>", True),
        ("x<secret:a.b-c_9>y", True),
        (f"<secret:{'a' * 64}>", True),
        (f"<secret:{'a' * 65}>", False),
        ("<secret:>", False),
        ("secret:password", False),
        (7, False),
        (None, False),
    ],
)
def test_a_secret_is_asked_for_by_its_name(text: object, holds: bool) -> None:
    assert typed_secrets.holds_secret(text) is holds


def test_secrets_are_put_in_on_pages_that_may_have_them(border: SandboxBorder) -> None:
    text = "<secret:user>:<secret:password>!"

    assert typed_secrets.with_secrets(text, [HERE, HERE], border) == "ana-lee:hunter2-hunter2!"


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://evil.test:8080/a?b", "https://evil.test:8080"),
        ("about:srcdoc", "about:srcdoc"),
        ("data:" + "a" * 200, "data:" + "a" * 75),
        ("https://hunter2-hunter2.test/", "https://<secret:password>.test"),
        ("", ""),
    ],
)
def test_secrets_are_typed_nowhere_else(url: str, place: str, border: SandboxBorder) -> None:
    with refused("AW503") as raised:
        typed_secrets.with_secrets("<secret:password>", [HERE, url], border)
    assert raised.value.reason == f"a secret may not be typed on {place}"


def test_a_secret_that_the_case_lacks_is_refused(border: SandboxBorder) -> None:
    with refused("AW503", r"^the case has no secret 'pin' \(secrets: password, user\)$"):
        typed_secrets.with_secrets("<secret:pin>", [HERE], border)
    border.secrets = {}
    with refused("AW503", r"\(secrets: none\)$"):
        typed_secrets.with_secrets("<secret:pin>", [HERE], border)


# -- patterns, windows, numbers --------------------------------------------------------


@pytest.mark.parametrize("pattern", ["**/cart", "a" * 4000, "/cart?a=*", None, 7])
def test_an_ordinary_pattern_is_left_to_playwright(pattern: object) -> None:
    assert page_addresses.url_matcher(pattern, HERE) is pattern


@pytest.mark.parametrize("slow", ["**a" * 30 + "**b", "*{a,aa}" * 40 + "b"])
def test_a_pattern_that_could_be_matched_for_ever_is_matched_here(slow: str) -> None:
    matches = cast(Any, page_addresses.url_matcher(slow, HERE))

    assert not matches("http://shop.test/" + "a" * 3_000)
    assert matches(slow.replace("*", "").replace("{a,aa}", "a"))


def test_a_path_with_wildcards_is_joined_to_the_page(border: SandboxBorder) -> None:
    matches = cast(Any, page_addresses.url_matcher("/*/cart/*", "http://shop.test/a"))

    assert matches("http://shop.test/en/cart/1")
    assert matches(SimpleNamespace(url="http://shop.test/en/cart/1"))
    assert not matches("http://other.test/en/cart/1")


@pytest.mark.parametrize(
    ("pattern", "why"),
    [("a" * 4001, "at most 4,000 characters"), ("{a,b", "a brace without its other half")],
)
def test_a_pattern_that_is_none_is_an_error(pattern: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        page_addresses.url_matcher(pattern, HERE)


@pytest.mark.parametrize(
    "size",
    [
        *({"width": 1, "height": 8192}, {"width": 8192.0, "height": 1}),
        *({"width": 800}, {}, None, {"width": "wide", "height": None}),
    ],
)
def test_a_window_that_a_screen_could_have_is_left_to_the_browser(size: object) -> None:
    size_limits.check_viewport(size)


@pytest.mark.parametrize(
    "size",
    [
        {"width": 0, "height": 600},
        {"width": 800, "height": 0.5},
        {"width": 8193, "height": 600},
        {"width": 800, "height": 8192.5},
        {"height": -1},
    ],
)
def test_a_window_that_no_screen_has_is_refused(size: object) -> None:
    with pytest.raises(ValueError, match="a viewport side is between 1 and 8192 pixels"):
        size_limits.check_viewport(size)


@pytest.mark.parametrize("value", [1.5, 7, "nan", None, [1, (2.0, {"a": {3.5}})], True])
def test_numbers_that_json_can_carry_pass(value: object) -> None:
    size_limits.check_finite(value)


@pytest.mark.parametrize(
    "value",
    [
        *(float("inf"), float("-inf"), float("nan"), [1.0, float("inf")], (float("nan"),)),
        *({float("inf")}, {"a": [float("nan")]}, {"a": 1, "b": {"c": float("inf")}}),
    ],
)
def test_numbers_that_json_cannot_carry_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match=r"(inf|nan) is not a finite number"):
        size_limits.check_finite(value)
