"""Folders served as a web site: only what is in them, as UTF-8, and never from a cache."""

import http.client
import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pytest_autoweb.cases.webserver_spec import ServerHandle, Webserver
from pytest_autoweb.session.servers.webservers import ServerPool, stop_all


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    (folder / "secret.txt").write_text("secret")
    (folder / "site-private").mkdir()
    (folder / "site-private" / "secret.txt").write_text("secret")
    site = folder / "site"
    (site / "empty").mkdir(parents=True)
    (site / "index.html").write_text("<p>Grüße</p>")
    (site / "script.js").write_text("1")
    (site / "picture.png").write_bytes(b"\x89PNG")
    (site / "inside.txt").symlink_to(site / "script.js")
    (site / "outside.txt").symlink_to(folder / "secret.txt")
    (site / "up").symlink_to(folder)
    return folder


@pytest.fixture(scope="module")
def handle(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerHandle]:
    session = tmp_path_factory.mktemp("session")
    pool = ServerPool(session, os.getpid())
    with pool.serving(Webserver(static="site"), folder / "a.yaml") as running:
        yield running
    stop_all(session)


def get(
    handle: ServerHandle, path: str, method: str = "GET", **headers: str
) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(urlsplit(handle.url).netloc, timeout=5)
    connection.request(method, path, headers=headers)
    with connection.getresponse() as answer:
        found = answer.status, answer.headers, answer.read()
    connection.close()
    return found


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html?x=1#top", "text/html; charset=utf-8"),
        ("/script.js", "text/javascript; charset=utf-8"),
        ("/inside.txt", "text/plain; charset=utf-8"),
        ("/picture.png", "image/png"),
    ],
)
def test_files_come_with_their_type_and_are_not_kept(
    handle: ServerHandle, path: str, kind: str
) -> None:
    status, headers, body = get(
        handle, path, **{"If-Modified-Since": "Fri, 01 Jan 2100 00:00:00 GMT"}
    )

    assert (status, headers["Content-Type"]) == (200, kind)
    assert headers["Cache-Control"] == "no-store"
    assert body


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/..%2fsecret.txt",
        "/empty/../../secret.txt",
        "/../site-private/secret.txt",
        "//../secret.txt",
        "/up/secret.txt",
        "/outside.txt",
        "/..%5csecret.txt",
        "/secret.txt%00.html",
        "/nowhere.html",
        "/empty/",
    ],
)
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_nothing_outside_and_no_listing_is_shown(
    handle: ServerHandle, path: str, method: str
) -> None:
    status, _, body = get(handle, path, method)

    assert status == 404
    assert b"secret" not in body


def test_it_listens_to_this_machine_only(handle: ServerHandle) -> None:
    assert urlsplit(handle.url).hostname == "127.0.0.1"


def test_a_folder_inside_an_installed_package_is_served(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lib" / "autoweb_demo_site" / "html").mkdir(parents=True)
    (tmp_path / "lib" / "autoweb_demo_site" / "__init__.py").touch()
    (tmp_path / "lib" / "autoweb_demo_site" / "html" / "a.html").write_text("<p>packaged</p>")
    monkeypatch.syspath_prepend(tmp_path / "lib")
    webserver = Webserver(
        static="autoweb_demo_site/html", url="http://127.0.0.1:{port}/a.html", timeout=10
    )

    with ServerPool(tmp_path / "session", os.getpid()).serving(webserver, None) as handle:
        assert get(handle, "/a.html")[2] == b"<p>packaged</p>"
    stop_all(tmp_path / "session")
