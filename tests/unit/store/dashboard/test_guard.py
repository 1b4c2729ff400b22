"""Nobody gets in without the token, and no other page can use the browser of one who has it."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from dashboard_server import BEARER, TOKEN, holder, visitor
from made_up_runs import attempt, call, save, tried

from pytest_autoweb.report.write import write_report
from pytest_autoweb.store.database import Store, read_address
from pytest_autoweb.store.sync import sync_run


@pytest.fixture
def stranger(small: Store) -> Iterator[httpx.Client]:
    with visitor(small) as client:
        yield client


def test_nothing_but_the_way_in_answers_without_the_token(stranger: httpx.Client) -> None:
    api = json.loads(stranger.get("/api/openapi.json", headers=BEARER).text)
    for path, methods in api["paths"].items():
        for method in methods:
            assert (
                stranger.request(method, path.replace("{", "").replace("}", "")).status_code == 401
            )
    page = stranger.get("/", headers={"accept": "text/html"})

    assert page.status_code == 401
    assert "Open the whole address" in page.text
    assert stranger.get("/", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert (
        stranger.get(
            "/api/runs", headers={"cookie": f"autoweb_{stranger.base_url.port}=wrong"}
        ).status_code
        == 401
    )


def test_the_token_is_exchanged_for_a_cookie_that_is_not_the_token(stranger: httpx.Client) -> None:
    refused = stranger.post("/api/session", headers={"Authorization": f"Bearer {TOKEN}x"})
    let_in = stranger.post("/api/session", headers=BEARER)
    cookie = let_in.headers["set-cookie"]

    assert refused.status_code == 401
    assert let_in.status_code == 204
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=strict"} <= set(cookie.split("; "))
    assert stranger.get("/api/runs").status_code == 200


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:9999"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"}, 403),
        ({"sec-fetch-site": "same-site", "sec-fetch-mode": "navigate"}, 403),
        ({"host": "evil.example:8017"}, 421),
        ({"host": "127.0.0.1.evil.example"}, 421),
        ({"origin": "http://OURS", "sec-fetch-site": "same-origin"}, 200),
    ],
)
def test_what_another_site_makes_the_browser_send_is_refused(
    stranger: httpx.Client, headers: dict[str, str], status: int
) -> None:
    stranger.post("/api/session", headers=BEARER)

    ours = stranger.base_url.netloc.decode()
    headers = {name: text.replace("OURS", ours) for name, text in headers.items()}
    answer = stranger.post(
        "/api/calibration/analyze", json={"errorMessage": "boom"}, headers=headers
    )

    assert answer.status_code == status


def test_every_answer_has_the_policy_that_lets_no_foreign_script_in(client: httpx.Client) -> None:
    for path in ("/", "/docs", "/nope", "/api/runs", "/api/nope", "/static/dashboard.css"):
        answer = client.get(path)

        assert "script-src 'self'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "unsafe" not in answer.headers["content-security-policy"]


def test_text_of_pages_and_models_stays_text(client: httpx.Client, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    failed = attempt(1, [call("click", False)], False)
    cell = tried("evil", evil, failed, reason=f"saw {evil}")
    with Store(read_address(f"sqlite:///{tmp_path}/evil.db")) as store:
        sync_run(store, save(tmp_path / "run", [cell]))
        with holder(store) as reader:
            (run,) = reader.get("/api/runs").json()
            (row,) = reader.get(f"/api/runs/{run['id']}").json()["cells"]
            pages = [f"/runs/{run['id']}", f"/cells/{row['id']}", "/runs", "/?days=365"]
            texts = [reader.get(page).text for page in pages]

    assert all(evil not in text for text in texts)
    assert any("&lt;script&gt;alert(1)&lt;/script&gt;" in text for text in texts)


def test_a_report_is_served_in_an_origin_of_its_own_and_only_that_of_the_very_run(
    tmp_path: Path,
) -> None:
    def make(day: int, **changes: str) -> Path:
        folder = tmp_path / "autoweb-report"
        cell = tried("one", "m", attempt(1, [], True))
        save(folder, [cell], day, **changes)
        write_report(folder, max_chars=100_000, analysis=None)
        return folder

    with Store(read_address(f"sqlite:///{tmp_path}/runs.db")) as store:
        earlier = sync_run(store, make(0)).run_id
        shutil.move(tmp_path / "autoweb-report", tmp_path / "autoweb-report.earlier")
        later = sync_run(store, make(1)).run_id
        with holder(store) as reader:
            answers = [reader.get(f"/runs/{run}/report") for run in (earlier, later)]
            shutil.rmtree(tmp_path / "autoweb-report.earlier")
            gone = reader.get(f"/runs/{earlier}/report")
            up = reader.get(f"/runs/{later}/..%2f..%2fstore.db")

    assert ["20261121_093000_000" in answer.text for answer in answers] == [True, False]
    assert answers[0].headers["content-security-policy"].startswith("sandbox allow-scripts ")
    assert "allow-same-origin" not in answers[0].headers["content-security-policy"]
    assert (gone.status_code, up.status_code) == (404, 404)
