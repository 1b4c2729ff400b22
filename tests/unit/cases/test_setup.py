"""Mistakes in a case's `setup` are told at their lines before anything runs."""

from typing import Any

import pytest

from pytest_autoweb.base.errors import CaseError

MISTAKES = {
    "{timezone_id: Europe/Berlinn}": (
        "timezone_id",
        "'Europe/Berlinn' is not a time zone such as Europe/Berlin or UTC",
    ),
    "{locale: german}": ("locale", "'german' is not a locale such as de-DE or en"),
    "{clock: {time: 2026-04-03T09:00}}": (
        "clock.time",
        "needs a time with Z or an offset such as +02:00 at its end",
    ),
    "{clock: {time: tomorrow}}": (
        "clock.time",
        "'tomorrow' is not a moment such as 2026-04-03T09:00:00Z",
    ),
    "{viewport: {width: 390}}": ("viewport.height", "is missing"),
    "{viewport: {width: 0, height: 10}}": ("viewport.width", "must be at least 1"),
    "{permissions: [geolocatoin]}": ("permissions[0]", "must be 'accelerometer', "),
    "{color_scheme: darkish}": ("color_scheme", "must be 'light', 'dark' or 'no-preference'"),
    "{geolocation: {latitude: 91, longitude: 0}}": ("geolocation.latitude", "must be at most 90"),
    "{storage_state: '{{ secrets.pin }}.json'}": (
        "storage_state",
        "a secret cannot stand here: it would stay <secret:pin>",
    ),
    "{http_credentials: {username: ana, password: hunter22}}": (
        "http_credentials.password",
        "must be a secret, such as '{{ secrets.password }}'",
    ),
    "{passkeys: [tea-time]}": (
        "passkeys[0]",
        "must be a secret, such as '{{ secrets.password }}'",
    ),
    "{http_credentials: {username: a, password: '{{ secrets.pin }}', origin: 'http://b.test'}}": (
        "http_credentials.origin",
        "'http://b.test' is neither the origin of entry_url nor in allowed_origins",
    ),
}
CASE = """\
version: 1
cases:
  - id: login
    entry_url: http://shop.test/
    user_task: Log in.
    secrets: {pin: {default: "1"}}
    allowed_origins: [http://cdn.test]
    matrix: {zone: [Europe/Berlin, UTC]}
"""


@pytest.mark.parametrize("setup", MISTAKES)
def test_a_mistake_is_told_at_its_field(load: Any, setup: str) -> None:
    field, reason = MISTAKES[setup]
    with pytest.raises(CaseError) as caught:
        load(f"{CASE}    setup: {setup}\n")

    first, *_ = str(caught.value).splitlines()
    assert f"shop.yaml:9: cases[0].setup.{field}: " in first
    assert reason in first


def test_a_matrix_fills_the_set_up_and_a_wrong_value_of_it_is_told(load: Any) -> None:
    text = f"{CASE}    setup: {{timezone_id: '{{{{ matrix.zone }}}}', locale: de_DE}}\n"

    settings = [case.resolve(None).setup.of_browser() for case in load(text)]

    assert settings == [
        {"timezone_id": zone, "locale": "de-DE"} for zone in ("Europe/Berlin", "UTC")
    ]
    with pytest.raises(CaseError, match=r"shop\.yaml:9: cases\[0\]\.setup\.timezone_id: 'Mars'"):
        load(text.replace("UTC", "Mars"))


def test_credentials_may_go_to_any_origin_that_the_case_reaches(load: Any) -> None:
    login = "username: a, password: '{{ secrets.pin }}', origin: 'http://cdn.test/'"

    (case, _) = load(f"{CASE}    setup: {{http_credentials: {{{login}}}}}\n")

    assert case.resolve(None).setup.http_credentials.password == "<secret:pin>"
