import json
import re
import threading
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.base.errors import CassetteMiss, ModelError
from pytest_autoweb.base.redaction import MASK, KeyMask
from pytest_autoweb.models import named_specs
from pytest_autoweb.models.cassettes import CassetteStore, ReplySource, cassette_path
from pytest_autoweb.models.messages import Message, Reply, Request
from pytest_autoweb.models.model_spec import ModelSpec
from pytest_autoweb.models.named_specs import load_specs
from pytest_autoweb.results.records import Usage
from pytest_autoweb.settings.record_modes import RecordMode

SPEC = ModelSpec(name="openai/m")
SOURCE = ReplySource("m.gguf", "Q4_K_M", "engine 1")
USAGE = Usage(calls=1, input_tokens=5, output_tokens=3, cost_usd=0.5, latency_s=1.5)


def store(folder: Path, mode: RecordMode, environ: dict[str, str] | None = None) -> CassetteStore:
    return CassetteStore(folder, mode, mask=KeyMask(environ or {}), today=lambda: date(2031, 2, 3))


def request(text: str = "click", **changes: Any) -> Request:
    messages = (Message(role="system", content="rules"), Message(role="user", content=text))
    values = {
        "model": "openai/m",
        "messages": messages,
        "stage": "generate",
        "case_id": "login",
        "capture_mode": "ARIA",
    }
    return Request(**(values | changes))


def reply(text: str = "e1.click()") -> Reply:
    return Reply(text=text, usage=USAGE, model_served="m-1", finish_reason="stop")


def recorded(folder: Path, *pairs: tuple[Request, Reply | ModelError]) -> None:
    writer = store(folder, "new_episodes")
    for asked, outcome in pairs:
        writer.record(asked, SPEC, SOURCE, outcome)


def saved(folder: Path) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(
        cassette_path(folder, "openai/m", "login").read_text(encoding="utf-8")
    )
    return data


def test_a_recorded_reply_comes_back_as_it_was_and_says_it_is_replayed(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))

    again = store(tmp_path, "none").replay(request(), SPEC)

    assert again == reply().model_copy(
        update={"usage": USAGE.model_copy(update={"replayed_calls": 1})}
    )


def test_a_cassette_says_what_it_is_and_who_answered(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))

    header = {name: value for name, value in saved(tmp_path).items() if name != "entries"}

    assert header == {
        "format": "pytest-autoweb/cassette",
        "version": 1,
        "model": "openai/m",
        "case": "login",
        "model_file": "m.gguf",
        "quantisation": "Q4_K_M",
        "server": "engine 1",
        "recorded": "2031-02-03",
    }


def test_entries_stand_in_the_order_of_a_run_whatever_the_order_of_recording(
    tmp_path: Path,
) -> None:
    repair = request("c", stage="repair", attempt=2)
    plan, generate = request("a", stage="plan"), request("b")
    recorded(tmp_path / "one", (repair, reply()), (generate, reply()), (plan, reply()))
    recorded(tmp_path / "two", (plan, reply()), (generate, reply()), (repair, reply()))

    assert [entry["stage"] for entry in saved(tmp_path / "one")["entries"]] == [
        "plan",
        "generate",
        "repair",
    ]
    assert saved(tmp_path / "one") == saved(tmp_path / "two")


@pytest.mark.parametrize("host", ["http://127.0.0.1", "http://localhost", "http://[::1]"])
def test_the_port_of_a_local_server_does_not_matter(tmp_path: Path, host: str) -> None:
    code = "page.goto('{}:{}/login')"
    recorded(tmp_path, (request(f"open {host}:4001/ now"), reply(code.format(host, 4001))))

    again = store(tmp_path, "none").replay(request(f"open {host}:59999/ now"), SPEC)

    assert again is not None
    assert again.text == code.format(host, 59999)
    assert "4001" not in json.dumps(saved(tmp_path))


def test_two_local_servers_are_not_confused(tmp_path: Path) -> None:
    text = "shop http://127.0.0.1:{} mail http://127.0.0.1:{}"
    recorded(
        tmp_path,
        (request(text.format(4001, 4002)), reply("http://127.0.0.1:4002 http://127.0.0.1:4001")),
    )

    again = store(tmp_path, "none").replay(request(text.format(7001, 7002)), SPEC)

    assert again is not None
    assert again.text == "http://127.0.0.1:7002 http://127.0.0.1:7001"


def test_how_long_a_tool_of_codex_took_does_not_matter(tmp_path: Path) -> None:
    took = "Wall time: {} seconds\nOutput:\ndone"
    recorded(tmp_path, (request(took.format("0.0160") * 2), reply()))

    # In the recorded run both took as long; the text of a page is not a time.
    twice = took.format("0.0821") + took.format("1.2")
    assert store(tmp_path, "none").replay(request(twice), SPEC) is not None
    with pytest.raises(ModelError):
        store(tmp_path, "none").replay(request(twice.replace("Wall", "Last")), SPEC)


def test_the_digest_of_a_fence_around_a_page_does_not_matter(tmp_path: Path) -> None:
    page = "<<page {0}>>\nhttp://127.0.0.1:{1}\n<<end page {0}>>"
    recorded(tmp_path, (request(page.format("0a1b2c3d", 1234)), reply()))

    assert store(tmp_path, "none").replay(request(page.format("ffffffff", 4321)), SPEC)


@pytest.mark.parametrize(
    "changes",
    [
        {"repeat": 2},
        {"stage": "repair"},
        {"grammar": 'root ::= "x"'},
        {"json_schema": {"type": "object"}},
        {"stop": ("\n",)},
        {"max_tokens": 7},
        {
            "messages": (
                Message(role="system", content="rules"),
                Message(role="user", content="click", images=("data:image/png;base64,AA==",)),
            )
        },
    ],
    ids=str,
)
def test_whatever_shapes_the_reply_is_part_of_the_key(
    tmp_path: Path, changes: dict[str, Any]
) -> None:
    recorded(tmp_path, (request(), reply()))

    with pytest.raises(CassetteMiss):
        store(tmp_path, "none").replay(request(**changes), SPEC)


@pytest.mark.parametrize(
    "change", [{"temperature": 0.7}, {"seed": 2}, {"model": "openai/other"}], ids=str
)
def test_a_changed_model_setting_is_a_miss_that_names_it(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    recorded(tmp_path, (request(), reply()))
    name, value = next(iter(change.items()))

    with pytest.raises(CassetteMiss, match=rf"settings changed: .*{name}: .*now {value!r}"):
        store(tmp_path, "none").replay(request(), SPEC.model_copy(update=change))


def test_the_same_question_at_another_attempt_finds_the_recording(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))

    assert store(tmp_path, "none").replay(request(attempt=2, turn=3), SPEC)


def test_the_same_question_asked_twice_keeps_both_answers(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply("first")), (request(attempt=2), reply("second")))
    player = store(tmp_path, "none")

    texts = [
        answer.text
        for attempt in (2, 1)
        if (answer := player.replay(request(attempt=attempt), SPEC)) is not None
    ]

    assert texts == ["second", "first"]


def test_a_miss_shows_the_line_that_changed_and_how_to_record_anew(tmp_path: Path) -> None:
    page = "heading Shop\n- button {}\n- link Home"
    recorded(tmp_path, (request(page.format("Buy")), reply()))

    with pytest.raises(CassetteMiss) as caught:
        store(tmp_path, "none").replay(request(page.format("Pay")), SPEC)

    assert caught.value.cause == "unavailable"
    assert caught.value.detail.splitlines() == [
        "no recording for model openai/m, case login, ARIA, repeat 1, attempt 1, stage generate, "
        f"turn 0: the request differs from the one in {tmp_path.name}/openai__m/login.json.",
        "message 2 (user) differs first in line 2:",
        "  recorded: - button Buy",
        "  now:      - button Pay",
        "To record anew: --autoweb-record-mode=new_episodes (adds what is missing) or "
        "--autoweb-record-mode=all (replaces everything).",
    ]


def test_a_miss_far_into_a_long_line_shows_that_part(tmp_path: Path) -> None:
    recorded(tmp_path, (request("x" * 5000 + "OLD"), reply()))

    with pytest.raises(CassetteMiss) as caught:
        store(tmp_path, "none").replay(request("x" * 5000 + "NEW"), SPEC)

    assert re.search(r"recorded: …x+OLD\n  now:      …x+NEW\n", caught.value.detail)
    assert max(map(len, caught.value.detail.splitlines())) < 250


def test_a_miss_at_a_place_that_was_never_recorded_lists_what_was(tmp_path: Path) -> None:
    recorded(tmp_path, (request(stage="plan"), reply()))

    with pytest.raises(CassetteMiss, match=r"nothing for this call; it has plan/0 of attempt 1"):
        store(tmp_path, "none").replay(request(turn=4), SPEC)


def test_a_miss_without_a_cassette_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(CassetteMiss, match=r"there is no cassette .*openai__m/login\.json"):
        store(tmp_path, "none").replay(request(), SPEC)


def test_mode_off_neither_reads_nor_writes(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))
    idle = store(tmp_path, "off")
    idle.record(request("other"), SPEC, SOURCE, reply())

    assert idle.replay(request(), SPEC) is None
    assert len(saved(tmp_path)["entries"]) == 1


def test_mode_once_records_a_cassette_that_did_not_exist_when_the_session_began(
    tmp_path: Path,
) -> None:
    session = store(tmp_path, "once")

    assert session.replay(request(), SPEC) is None

    session.record(request(), SPEC, SOURCE, reply())

    assert session.replay(request(), SPEC)
    assert session.replay(request("more"), SPEC) is None


def test_mode_once_replays_a_cassette_that_existed_and_adds_nothing(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))
    session = store(tmp_path, "once")

    assert session.replay(request(), SPEC)
    with pytest.raises(CassetteMiss):
        session.replay(request("new"), SPEC)


def test_mode_new_episodes_replays_hits_and_asks_for_the_rest(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))
    session = store(tmp_path, "new_episodes")

    assert session.replay(request(), SPEC)
    assert session.replay(request("new"), SPEC) is None


def test_mode_all_replaces_the_cells_it_touches_and_keeps_the_others(tmp_path: Path) -> None:
    second_repeat = request("r2", repeat=2)
    recorded(
        tmp_path,
        (request("old plan", stage="plan"), reply()),
        (request("old"), reply()),
        (second_repeat, reply("kept")),
    )
    session = store(tmp_path, "all")

    assert session.replay(request("old"), SPEC) is None

    for asked in (request("new plan", stage="plan"), request("new")):
        session.record(asked, SPEC, SOURCE, reply("fresh"))

    assert [entry["reply"] for entry in saved(tmp_path)["entries"]] == ["fresh", "fresh", "kept"]


@pytest.mark.parametrize("cause", ["refusal", "empty", "context_window"])
def test_failures_of_the_model_itself_are_replayed(tmp_path: Path, cause: Any) -> None:
    error = ModelError(cause, "openai/m", "no", usage=Usage(calls=2, output_tokens=9))
    recorded(tmp_path, (request(), error))

    with pytest.raises(ModelError) as caught:
        store(tmp_path, "none").replay(request(), SPEC)

    assert (caught.value.cause, caught.value.detail) == (cause, "no")
    assert caught.value.usage == Usage(calls=2, output_tokens=9, replayed_calls=2)


@pytest.mark.parametrize("cause", ["timeout", "rate_limit", "auth", "parse", "unavailable"])
def test_failures_of_the_service_are_not_kept(tmp_path: Path, cause: Any) -> None:
    recorded(tmp_path, (request(), ModelError(cause, "openai/m", "no")))

    assert not list(tmp_path.rglob("*.json"))


def test_no_key_is_ever_written(tmp_path: Path) -> None:
    keys = ["sk-abcdefghijklmnop123456", "Bearer abcdefghijklmnop", "hunter2-hunter2"]
    writer = store(tmp_path, "all", {"SHOP_API_KEY": "hunter2-hunter2"})
    asked = request(
        f"page shows {keys}", grammar=f'root ::= "{keys[0]}"', json_schema={"const": keys[2]}
    )
    spec = SPEC.model_copy(update={"extra_body": {"header": keys[1]}})
    writer.record(asked, spec, SOURCE, reply(f"fill({keys})"))
    writer.record(
        request("b", stage="plan"), spec, SOURCE, ModelError("refusal", "openai/m", str(keys))
    )

    text = cassette_path(tmp_path, "openai/m", "login").read_text(encoding="utf-8")

    assert [key for key in keys if key in text] == []
    assert text.count(MASK) >= 9


def test_pictures_are_kept_as_digests_only(tmp_path: Path) -> None:
    picture = "data:image/png;base64," + "QUJD" * 50
    message = Message(role="user", content="look", images=(picture,))
    recorded(tmp_path, (request(messages=(message,)), reply()))

    kept = saved(tmp_path)["entries"][0]["request"]["messages"][0]["images"]

    assert re.fullmatch(r"[0-9a-f]{64}", *kept)


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"format": "other"}', "\x00", '{"format":"pytest-autoweb/cassette",'
               '"version":2,"model":"m","case":"c"}'],
    ids=["cut", "list", "foreign", "binary", "newer"],
)  # fmt: skip
def test_a_damaged_cassette_is_named_and_never_overwritten(tmp_path: Path, damage: str) -> None:
    path = cassette_path(tmp_path, "openai/m", "login")
    path.parent.mkdir(parents=True)
    path.write_text(damage, encoding="utf-8")

    with pytest.raises(ModelError, match=r"login\.json is damaged"):
        store(tmp_path, "none").replay(request(), SPEC)
    with pytest.raises(ModelError, match=r"login\.json is damaged"):
        store(tmp_path, "all").record(request(), SPEC, SOURCE, reply())

    assert path.read_text(encoding="utf-8") == damage


def test_many_threads_and_two_sessions_lose_nothing(tmp_path: Path) -> None:
    sessions = [store(tmp_path, "new_episodes") for _ in range(2)]

    def record(number: int) -> None:
        sessions[number % 2].record(request(str(number)), SPEC, SOURCE, reply(str(number)))

    threads = [threading.Thread(target=record, args=(number,)) for number in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {entry["reply"] for entry in saved(tmp_path)["entries"]} == set(map(str, range(24)))
    assert [path.name for path in (tmp_path / "openai__m").iterdir()] == ["login.json"]


def test_recording_the_same_call_again_replaces_it(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply("old")), (request(), reply("new")))

    assert [entry["reply"] for entry in saved(tmp_path)["entries"]] == ["new"]


def test_recordings_are_known_per_case(tmp_path: Path) -> None:
    recorded(tmp_path, (request(), reply()))
    known = store(tmp_path, "none")

    assert known.has_recordings("openai/m", ["login"])
    assert known.has_recordings("openai/m", [])
    assert not known.has_recordings("openai/m", ["login", "logout"])
    assert not known.has_recordings("openai/n", [])


@pytest.mark.parametrize("name", ["openai/gpt-5-mini", "openai/gpt-5-mini@high"])
def test_a_recording_fits_whatever_the_registry_says_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with_registry = load_specs([name])[name]
    monkeypatch.setattr(named_specs, "facts_of", lambda model: None)
    without = load_specs([name])[name]
    asked = request(model=name, max_tokens=60)
    store(tmp_path, "new_episodes").record(asked, without, SOURCE, reply())

    again = store(tmp_path, "none").replay(
        asked.model_copy(update={"json_schema": {"type": "object"}}), with_registry
    )

    assert with_registry.max_tokens != without.max_tokens
    assert again is not None


def test_a_recording_of_another_effort_does_not_fit(tmp_path: Path) -> None:
    low, high = (ModelSpec(name="openai/m", reasoning_effort=effort) for effort in ("low", "high"))
    store(tmp_path, "new_episodes").record(request(), low, SOURCE, reply())

    with pytest.raises(CassetteMiss, match="reasoning_effort: recorded 'low', now 'high'"):
        store(tmp_path, "none").replay(request(), high)


def test_a_reply_with_more_room_is_a_recording_of_its_own(tmp_path: Path) -> None:
    roomier = request(more_room=True)
    recorded(tmp_path, (request(), reply("cut")), (roomier, reply("whole")))

    replays = [store(tmp_path, "none").replay(asked, SPEC) for asked in (request(), roomier)]

    assert [replayed and replayed.text for replayed in replays] == ["cut", "whole"]
