import json
import string
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb import __version__
from pytest_autoweb.base.redaction import Redactor, redact_keys
from pytest_autoweb.judging.evidence.har_file import har_text, read_har
from pytest_autoweb.judging.evidence.requests_log import WireEntry

ORDER = WireEntry(
    method="POST",
    url="http://shop.test/api/orders?draft=1",
    status=201,
    status_text="Created",
    resource_type="fetch",
    request_headers={"content-type": "application/json", "cookie": "<redacted>"},
    request_body='{"item": "tea", "n": 2}',
    response_headers={"content-type": "application/json"},
    response_body='{"id": 7}',
    started=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    duration_ms=12.5,
    page_url="http://shop.test/cart",
)
LOST = WireEntry(method="GET", url="http://shop.test/x", failed="net::ERR_FAILED", counted=False)


def test_a_record_survives_being_written_and_read() -> None:
    first, second = read_har(har_text([ORDER, LOST], str))

    assert first == ORDER
    assert (second.failed, second.status, second.counted) == ("net::ERR_FAILED", None, False)


def test_the_file_has_what_har_1_2_asks_for() -> None:
    log = json.loads(har_text([ORDER], str, dropped=3))["log"]
    entry = log["entries"][0]

    assert log["version"] == "1.2"
    assert log["creator"] == {"name": "pytest-autoweb", "version": __version__}
    assert log["comment"] == "3 requests did not fit and are missing"
    assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= set(entry)
    assert entry["startedDateTime"] == "2026-01-02T03:04:05+00:00"
    assert set(entry["request"]) == {
        "method", "url", "httpVersion", "cookies", "headers", "queryString", "postData",
        "headersSize", "bodySize",
    }  # fmt: skip
    assert set(entry["response"]) == {
        "status", "statusText", "httpVersion", "cookies", "headers", "content", "redirectURL",
        "headersSize", "bodySize",
    }  # fmt: skip
    assert entry["request"]["queryString"] == [{"name": "draft", "value": "1"}]
    assert entry["request"]["postData"]["mimeType"] == "application/json"


@pytest.mark.parametrize("text", ["", "[]", '{"log": {"entries": [{}]}}', '{"log": 1}'])
def test_what_is_no_record_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        read_har(text)


TAILS = st.text(string.ascii_letters + string.digits + " !'()*&=+%/\"<>~ä€", min_size=4)
# Begins as nothing else in a record does, so that it is found if it is there.
SECRETS = TAILS.map(lambda tail: f"Zq7#{tail}x")


def _spread(secret: str) -> WireEntry:
    """The secret everywhere, in the ways that browsers write it."""
    return WireEntry(
        method="POST",
        url=f"http://shop.test/?p={quote_plus(secret)}&q={quote(secret, safe=chr(39) + '!()*~')}",
        status=200,
        request_headers={"content-type": "application/x-www-form-urlencoded", "x-p": secret},
        request_body=f"user=ana&password={quote_plus(secret)}",
        response_headers={"location": f"/next?p={quote(secret)}", "content-type": "text/html"},
        response_body=json.dumps({"p": [secret, {"deep": f"is {secret}!"}]}),
        failed=secret,
        page_url=f"http://shop.test/?p={quote_plus(secret)}",
    )


@given(secret=SECRETS)
@pytest.mark.long
def test_no_part_of_a_record_keeps_a_secret(secret: str) -> None:
    text = har_text([_spread(secret)], Redactor({"pw": secret}))
    kept = read_har(text)[0]

    assert secret not in "\n".join(_texts(json.loads(text)))
    assert quote_plus(secret) not in text.replace("<secret:pw>", "")
    assert json.loads(kept.response_body or "") == {
        "p": ["<secret:pw>", {"deep": "is <secret:pw>!"}]
    }


@given(number=st.integers(min_value=100_000))
def test_json_stays_json_when_a_number_in_it_is_secret(number: int) -> None:
    entry = WireEntry(method="POST", url="http://x.test/", request_body=json.dumps({"pin": number}))

    kept = read_har(har_text([entry], Redactor({"pin": str(number)})))[0]

    assert json.loads(kept.request_body or "") == {"pin": "<secret:pin>"}


def test_what_looks_like_a_token_is_not_kept() -> None:
    entry = WireEntry(
        method="GET",
        url="http://x.test/?access_token=abcdef123456",
        response_body='{"access_token": "abcdef123456", "name": "Ana"}',
    )

    text = har_text([entry], redact_keys)

    assert "abcdef123456" not in text
    assert "Ana" in text


def _texts(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.items() for part in item for text in _texts(part)]
    if isinstance(value, list):
        return [text for item in value for text in _texts(item)]
    return [value] if isinstance(value, str) else []
