"""The language of a constrained second try."""

from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.agents.codegen.constrained import (
    code_of_calls,
    constrained_grammar,
    disallowed_calls,
    offered_calls,
    schema,
)
from pytest_autoweb.browser.page.frames import RefElement
from pytest_autoweb.results.records import Attempt, Failure, Finding, ToolCall

SAVE = 'page.get_by_role("button", name="Save changes", exact=True)'
NAME = 'page.get_by_label("Name", exact=True)'


def call(target: str, method: str, *, ok: bool) -> ToolCall:
    return ToolCall(
        step_index=1, seq=0, target=target, method=method, arguments="", acting=True, ok=ok,
        duration_ms=1,
    )  # fmt: skip


FAILED = Attempt(
    tool_calls=(
        call("page.get_by_label('Name', exact=True)", "fill", ok=True),
        call("page.get_by_role('button', name='Save')", "click", ok=False),
    ),
    findings=(Finding(code="near", fact="similar", locators=(SAVE,)),),
)
HERE = [RefElement("e1", "textbox", "Name", "", NAME, ("fill", "press"))]


def test_only_elements_that_were_found_may_be_named_and_no_call_that_failed() -> None:
    offered = offered_calls(HERE, [FAILED])
    assert dict(offered.elements) == {SAVE: ("click",), NAME: ("fill", "press")}
    assert disallowed_calls(f'{NAME}.fill("ana")\n{SAVE}.click()', offered) == ()
    assert (
        disallowed_calls(
            "page.get_by_role('button',name='Save changes',exact=True).click()", offered
        )
        == ()
    )
    assert "not among" in disallowed_calls('page.get_by_text("x").click()', offered)[0]
    assert (
        "tried and failed"
        in disallowed_calls("page.get_by_role('button', name='Save').click()", offered)[0]
    )
    assert "does not take" in disallowed_calls(f'{SAVE}.fill("x")', offered)[0]


def test_what_was_found_before_a_refused_retry_is_still_offered() -> None:
    refused = Attempt(failure=Failure(kind="lint", message="not offered", rule="AW700"))
    cart = 'page.get_by_role("link", name="Cart")'
    ran = FAILED.model_copy(
        update={"tool_calls": (*FAILED.tool_calls, call(cart, "click", ok=True))}
    )

    offered = offered_calls(HERE, [ran, refused])
    assert dict(offered.elements) == {SAVE: ("click",), NAME: ("fill", "press"), cart: ("click",)}
    assert offered == offered_calls(HERE, [ran])


def test_grammar_and_schema_hold_the_same_elements() -> None:
    offered = offered_calls(HERE, [FAILED], may_answer=True)
    rules = constrained_grammar(offered)
    assert rules is not None
    assert "Save changes" in rules
    assert "name='Save')" not in rules
    assert schema(offered)["properties"]["calls"]["items"]["properties"]["element"]["enum"] == [
        SAVE,
        NAME,
    ]
    reply = f'{{"calls": [{{"element": {NAME!r}, "action": "fill", "value": "ana"}}]}}'
    assert code_of_calls(reply.replace("'", '"').replace(NAME, NAME.replace('"', '\\"'))) == (
        f'{NAME}.fill("ana")'
    )
    assert constrained_grammar(offered_calls([], [Attempt()])) is None


@given(st.text())
def test_no_reply_and_no_code_breaks_the_reader(text: str) -> None:
    code_of_calls(text)
    disallowed_calls(text, offered_calls(HERE, [FAILED]))
