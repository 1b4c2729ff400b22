"""The stage that reads a value from the page, for a test that asks for it."""

import json
from typing import Any

from msgspec import Struct
from playwright.sync_api import Error
from pydantic_core import to_jsonable_python

from pytest_autoweb.agents.attempt.tools import Tools, ask, change, fail
from pytest_autoweb.agents.codegen.captured_pages import page_budget
from pytest_autoweb.agents.reading.asked_types import reply_kind, told_fields
from pytest_autoweb.agents.reading.plain_reading import plain_reading
from pytest_autoweb.agents.reading.shown_values import (
    NotShown,
    PageWords,
    known_locale,
    shown_value,
)
from pytest_autoweb.base.json_values import map_texts
from pytest_autoweb.base.language import StepProblem
from pytest_autoweb.browser.page.capture import capture_snapshot
from pytest_autoweb.browser.page.frames import run_script
from pytest_autoweb.judging.checks.page_checks import of_page_and_frames
from pytest_autoweb.models.messages import Message
from pytest_autoweb.models.prompts import fence, render
from pytest_autoweb.models.replies import objects_in, strip_reasoning
from pytest_autoweb.models.reply_forms import (
    Flag,
    ReplyForm,
    example_of,
    grammar_of,
    schema_of,
    string_rule,
)
from pytest_autoweb.results.records import Attempt, Failure

PROMPT = "read"
_TRIES = 2
_LOOK_S = 10.0
_QUOTE_CHARS = 300
_REPLY_TOKENS = 2_000


class AskedValue(Struct):
    """The value that a test asks for, and what was read."""

    kind: Any
    """Its type; see `asked_types`."""
    value: Any = None
    """The value, once it was read."""


def read_value(reading: AskedValue, attempt: Attempt, tools: Tools) -> Attempt:
    """Ask for the words of the page that are meant, twice if the page does not show them."""
    form = ReplyForm({"found": Flag(), "value": reply_kind(reading.kind)})
    listing = tools.redact(_listing(tools))
    page = PageWords(f"{listing}\n{tools.redact(_visible_text(tools))}", _locale(tools))
    messages = _question(reading, form, listing, tools)
    wrong = ""
    for turn in range(_TRIES):
        attempt, reply = ask(
            attempt,
            tools,
            "read",
            messages,
            turn=turn,
            grammar=grammar_of([form], string_rule(_QUOTE_CHARS)),
            json_schema=schema_of(form),
            max_tokens=_REPLY_TOKENS,
        )
        if attempt.failure:
            return attempt
        try:
            said = _said(reply)
            reading.value = shown_value(reading.kind, said, page)
        except NotShown as why:
            wrong = str(why)
            tools.log.write(f"read: {wrong}")
            told = f"That cannot be: {wrong}. Reply again, with the exact words of the page."
            messages = (*messages, Message(role="assistant", content=reply), _user(told))
            continue
        kept = map_texts(to_jsonable_python(reading.value), tools.redact)
        plain = plain_reading(reading.kind, said, reading.value, tools.page)
        code = tools.redact(f"answer({plain})") if plain else ""
        return change(attempt, answered=True, answer=kept, executed=True, code=code)
    message = f"no such value was found: {wrong}"
    failure = Failure(kind="step", message=message)
    return fail(attempt, failure, StepProblem.quoted("(read)", message))


def _user(text: str) -> Message:
    return Message(role="user", content=text)


def _question(
    reading: AskedValue, form: ReplyForm, listing: str, tools: Tools
) -> tuple[Message, ...]:
    example = json.dumps({**example_of(form), "found": True}, ensure_ascii=False)
    return render(
        PROMPT,
        what=tools.case.user_task,
        fields="\n".join(told_fields(reading.kind)),
        example=example,
        page=fence(listing, "page"),
    )


def _said(reply: str) -> Any:
    """Return what a reply says of the value."""
    for found in objects_in(strip_reasoning(reply)):
        if found.get("found") is False:
            raise NotShown("the page does not show it")
        if "value" in found:
            return found["value"]
    raise NotShown("the reply holds no JSON object with a value")


def _listing(tools: Tools) -> str:
    page = tools.page
    snapshot = capture_snapshot(
        page,
        tools.mode,
        url=page.url,
        entry_action="",
        step_indexes=(),
        budget_tokens=page_budget(tools, 1),
    )
    return f"URL: {page.url}\n{snapshot.text}"


def _visible_text(tools: Tools) -> str:
    seen = of_page_and_frames(
        tools.page,
        lambda frame, ms: str(run_script(frame, "visible_text", timeout_ms=ms)),
        _LOOK_S,
    )
    return "\n".join(text for _, text in seen)


def _locale(tools: Tools) -> str | None:
    try:
        declared = tools.page.locator("html").get_attribute("lang", timeout=1_000)
    except Error:
        return None
    return known_locale(declared.strip()) if declared else None
