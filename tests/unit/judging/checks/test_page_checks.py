"""Checks of the page, and the rounds in which checks are looked at; the browser is made up here.

That the scripts see what is on a page is tested in `tests/browser`; here it is what the checks make
of it.
"""

import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from made_up_page import ASKED, URL, Frame, Page, judge, one, summed
from pydantic import ValidationError

from pytest_autoweb.checks import CheckVerdict
from pytest_autoweb.judging.checks.check_type import Evidence, NotEvaluated, RubricFinding
from pytest_autoweb.judging.checks.delegated_checks import JudgeCheck, PythonCheck
from pytest_autoweb.judging.checks.page_checks import ElementCheck, JsCheck, TextCheck, UrlCheck
from pytest_autoweb.judging.checks.server_checks import FileCheck
from pytest_autoweb.results.records import CheckResult, Usage

# -- URL -------------------------------------------------------------------------------


def test_a_glob_is_compared_by_playwright() -> None:
    check = UrlCheck.model_validate({"url": "**/cart"})
    here, elsewhere = Page(at="**/cart"), Page()

    assert summed(one(here, check)) == (True, URL, "page")
    assert summed(one(elsewhere, check)) == (False, URL, "page")
    assert one(here, check).expected == "URL '**/cart'"
    assert here.waited[0] == ("**/cart", 50, "commit")


@pytest.mark.parametrize(
    ("wanted", "passed"),
    [
        ({"matches": "c.rt$"}, True),
        ({"matches": "c.rt!"}, False),
        ({"matches": r"^(\w+[:/.]*)+!$"}, False),
        ("**/*a*r*", True),
        ("**t**t**t**t**!", False),
    ],
)
def test_an_address_is_compared_in_no_time(wanted: Any, passed: bool) -> None:
    check = UrlCheck.model_validate({"url": wanted})

    assert summed(one(Page(), check)) == (passed, URL, "page")


@pytest.mark.long
def test_an_expression_that_takes_too_long_leaves_the_check_open() -> None:
    check = TextCheck.model_validate({"text": {"matches": "(?=(a+)+$)a"}})

    result = one(Page(text="a" * 40 + "!"), check)

    assert result.passed is None
    assert "could not be evaluated: the pattern '(?=(a+)+$)a' takes too long" in result.message


# -- text ------------------------------------------------------------------------------

FRAME = Frame("about:srcdoc", text="Paid\n\n by  card")


@pytest.mark.parametrize(
    ("wanted", "summary"),
    [
        ("Your  cart", (True, "Your cart", URL)),
        ("cart 2 items", (True, "cart 2 items", URL)),
        ("your cart", (False, "page text: Your cart / 2 items / Paid / by card", URL)),
        ("by card", (True, "by card", f"{URL} frame 1 about:srcdoc")),
        ("items Paid", (True, "items Paid", URL)),
        ({"matches": "^2 .*s$"}, (True, "2 items", URL)),
        ({"matches": "items\nPaid"}, (True, "items\nPaid", URL)),
        ({"matches": "^items"}, (False, "page text: Your cart / 2 items / Paid / by card", URL)),
    ],
)
def test_text_is_looked_for_in_the_page_and_its_frames(wanted: Any, summary: Any) -> None:
    page = Page(FRAME, text=" Your\u00a0cart \n\n2 items")
    result = one(page, TextCheck.model_validate({"text": wanted}))

    assert summed(result) == summary
    assert result.expected.startswith("visible text ")


def test_of_a_long_page_the_passage_like_the_longest_words_of_a_pattern_is_shown() -> None:
    page = Page(text=f"{'lorem ipsum ' * 40}Your order is on its way {'dolor sit ' * 40}")

    result = one(page, TextCheck.model_validate({"text": {"matches": r"\d+ order is on its way!"}}))

    assert result.actual.startswith("nearest: ")
    assert "order is on its way" in result.actual


def test_a_text_that_css_draws_in_capitals_is_found_as_it_is_drawn() -> None:
    page = Page(Frame("about:b", text="of May", drawn="OF MAY"), text="Total", drawn="TOTAL")

    assert summed(one(page, TextCheck(text="TOTAL"))) == (True, "TOTAL", URL)
    assert summed(one(page, TextCheck(text="Total"))) == (True, "Total", URL)
    assert one(page, TextCheck(text="OF MAY")).where == f"{URL} frame 1 about:b"
    # What is in neither is missed, and shown as the document has it.
    missed = one(page, TextCheck(text="total"))
    assert summed(missed) == (False, "page text: Total / of May", URL)


def test_a_page_without_text_says_so() -> None:
    assert summed(one(Page(), TextCheck(text="x"))) == (False, "(no visible text)", URL)


def test_a_frame_that_is_hidden_or_hangs_has_no_part_in_it() -> None:
    hidden, gone = Frame(text="x", visible=False), Frame(text="x", fails=True)
    seen = Frame("about:blank", text="x")

    assert one(Page(hidden, gone), TextCheck(text="x")).passed is False
    assert one(Page(hidden, gone, seen), TextCheck(text="x")).where == f"{URL} frame 3 about:blank"
    assert hidden.timeouts == []


def test_a_page_that_hangs_leaves_the_check_open() -> None:
    result = one(Page(fails=True), TextCheck(text="x"))

    assert result.passed is None
    assert result.message == "could not be evaluated: Error: the frame is gone"


def test_a_page_is_given_the_time_that_is_left_and_a_frame_a_second() -> None:
    frame = Frame()
    page = Page(frame, text="x")

    one(page, TextCheck(text="x"), timeout_s=3)
    one(page, TextCheck(text="x"), timeout_s=0)

    assert 2800 < page.timeouts[0] <= 3000
    assert page.timeouts[1:] == [3000]
    assert frame.timeouts == [1000, 1000]


# -- elements --------------------------------------------------------------------------


def state(**changed: Any) -> dict[str, Any]:
    usual = {"visible": True, "value": "", "checked": False, "enabled": True, "secret": False}
    return {**usual, **changed}


def element(**query: Any) -> ElementCheck:
    return ElementCheck.model_validate({"element": {"css": "input", **query}})


HIDDEN = state(visible=False)

STATES = [
    ({}, [], False, "no such element"),
    ({}, [state()], True, "1 found, 1 visible, 1 in the wanted state"),
    ({}, [HIDDEN], False, "1 found, 0 visible, 0 in the wanted state"),
    ({"count": 0}, [], True, "no such element"),
    ({"count": 0}, [HIDDEN], True, "1 found, 0 visible, 0 in the wanted state"),
    ({"count": 0}, [state()], False, "1 found, 1 visible, 1 in the wanted state"),
    (
        {"count": 2, "checked": False},
        [state(), state(), HIDDEN],
        True,
        "3 found, 2 visible, 2 in the wanted state: checked False; checked False",
    ),
    (
        {"count": 1, "enabled": True},
        [state(), state()],
        False,
        "2 found, 2 visible, 2 in the wanted state: enabled True; enabled True",
    ),
    ({"visible": True}, [HIDDEN], False, "1 found, 0 visible, 0 in the wanted state"),
    ({"visible": False}, [], True, "0 found, 0 of them visible"),
    ({"visible": False}, [HIDDEN], True, "1 found, 0 of them visible"),
    ({"visible": False}, [HIDDEN, state()], False, "2 found, 1 of them visible"),
    ({"visible": False, "count": 1}, [HIDDEN], True, "1 found, 0 of them visible"),
    ({"visible": False, "count": 2}, [HIDDEN], False, "1 found, 0 of them visible"),
    (
        {"value": "a b"},
        [state(value=" a  b"), state(value="c")],
        True,
        "2 found, 2 visible, 1 in the wanted state: value ' a  b'; value 'c'",
    ),
    (
        {"value": ""},
        [state(value="x")],
        False,
        "1 found, 1 visible, 0 in the wanted state: value 'x'",
    ),
    (
        {"value": "x"},
        [state(value="y", secret=True)],
        False,
        "1 found, 1 visible, 0 in the wanted state: value '<hidden>'",
    ),
    (
        {"value": "x"},
        [state(value="", secret=True)],
        False,
        "1 found, 1 visible, 0 in the wanted state: value ''",
    ),
    (
        {"checked": False, "enabled": False},
        [state(enabled=False), state(checked=True, enabled=False)],
        True,
        "2 found, 2 visible, 1 in the wanted state: checked False, enabled False; "
        "checked True, enabled False",
    ),
    (
        {"checked": True},
        [state()],
        False,
        "1 found, 1 visible, 0 in the wanted state: checked False",
    ),
    (
        {"enabled": True},
        [state(enabled=False)],
        False,
        "1 found, 1 visible, 0 in the wanted state: enabled False",
    ),
    (
        {"value": "v"},
        [state(value=str(number)) for number in range(7)],
        False,
        "7 found, 7 visible, 0 in the wanted state: "
        + "; ".join(f"value '{number}'" for number in range(5)),
    ),
]


@pytest.mark.parametrize(("query", "states", "passed", "actual"), STATES)
def test_elements_are_counted_in_the_wanted_state(
    query: dict[str, Any], states: list[dict[str, Any]], passed: bool, actual: str
) -> None:
    result = one(Page(elements=states), element(**query))

    assert (result.passed, result.actual) == (passed, actual)


HOW = [
    ({"role": "button"}, "button None None False"),
    ({"role": "button", "name": "Save"}, "button Save True False"),
    ({"role": "button", "name": {"matches": "S.ve"}}, "button S.ve None False"),
    ({"label": "Name"}, "label Name True"),
    ({"test_id": "x"}, "id x"),
    ({"css": "p > b"}, "css=p > b"),
    ({"text": "a+  b"}, r"text a\+\s+b"),
    ({"css": "p", "text": "a b"}, r"css=p with a\s+b"),
    ({"role": "link", "label": "L", "text": "t"}, "link None None False with t and label L True"),
    ({"label": "L", "test_id": "x", "css": "p"}, "label L True and id x and css=p"),
]


@pytest.mark.parametrize(("query", "how"), HOW)
def test_an_element_is_what_all_parts_of_the_query_name(query: dict[str, Any], how: str) -> None:
    ASKED.clear()
    one(Page(), ElementCheck.model_validate({"element": query}))

    assert [how] == ASKED


def test_elements_of_all_frames_are_counted_and_the_first_place_is_told() -> None:
    page = Page(Frame("about:a"), Frame("about:b", elements=[state()]), elements=[])
    check = element(role="button", name={"matches": "S.*"}, count=1)

    result = one(page, check)

    described = "element with role 'button', name 'S.* (regex)', css 'input', count 1"
    assert (result.passed, result.expected) == (True, described)
    assert result.where == f"{URL} frame 2 about:b {described}"
    assert one(Page(Frame()), check).where == f"{URL} {described}"
    both = Page(Frame(elements=[state()]), elements=[state()])
    assert one(both, element()).where == f"{URL} element with css 'input'"


def test_a_page_that_does_not_answer_is_not_asked_for_its_elements() -> None:
    ASKED.clear()

    assert one(Page(fails=True, elements=[state()]), element()).passed is None
    assert not ASKED


@pytest.mark.parametrize(
    ("role", "advice"),
    [
        ("H2", "did you mean 'heading'?"),
        ("toggle", "did you mean 'switch'?"),
        ("buton", "did you mean 'button'?"),
        ("qqqq", "one of alert, "),
    ],
)
def test_a_role_that_there_is_not_is_refused_with_advice(role: str, advice: str) -> None:
    with pytest.raises(ValidationError, match=f"'{role}' is not a role; {re.escape(advice)}"):
        element(role=role)


def test_a_name_needs_a_role() -> None:
    result = one(Page(), element(name="Save"))

    assert result.passed is None
    assert result.message == ("could not be evaluated: `name` needs `role`; use `label` or `text`")
    assert result.expected == '{"name": "Save", "css": "input"}'


# -- JavaScript ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gives", "summary"),
    [
        ({"truthy": True, "shown": "7", "error": ""}, (True, "7", URL)),
        ({"truthy": False, "shown": "0", "error": ""}, (False, "0", URL)),
        ({"truthy": False, "shown": "", "error": "no x"}, (False, "it threw: no x", URL)),
    ],
)
def test_what_a_script_gives_decides(gives: dict[str, Any], summary: Any) -> None:
    page = Page(js=[gives])
    result = one(page, JsCheck(js=" () => x \n"))

    assert summed(result) == summary
    assert result.expected == "truthy: () => x"
    assert page.timeouts == [3000]
    assert "() => x" in page.codes[0]


# -- rounds ----------------------------------------------------------------------------

NO = {"truthy": False, "shown": "no", "error": ""}
YES = {"truthy": True, "shown": "yes", "error": ""}


def test_a_check_that_does_not_hold_is_looked_at_again_until_it_does() -> None:
    page = Page(js=[NO, NO, YES])

    result = one(page, JsCheck(js="1"), timeout_s=30)

    assert (result.passed, result.actual) == (True, "yes")
    assert page.waited == [100, 100]
    assert 150 < result.duration_ms < 10_000


def test_a_check_that_never_holds_is_looked_at_until_time_is_over() -> None:
    page = Page(js=[NO])
    began = time.monotonic()

    result = one(page, JsCheck(js="1"), timeout_s=0.35)

    assert result.passed is False
    assert 3 <= len(page.timeouts) <= 6
    assert 0.3 < time.monotonic() - began < 5


def test_without_time_each_check_is_looked_at_once() -> None:
    page = Page(js=[NO])

    first, second = judge(page, JsCheck(js="1"), JsCheck(js="2"))

    assert (first.passed, second.passed, len(page.timeouts)) == (False, False, 2)
    assert page.waited == []


def test_checks_that_hold_are_not_looked_at_again() -> None:
    page = Page(js=[YES, NO, YES])

    first, second = judge(page, JsCheck(js="1"), JsCheck(js="2"), timeout_s=30)

    assert (first.passed, second.passed, len(page.timeouts)) == (True, True, 3)


def test_the_time_that_is_left_is_shared_among_the_checks_that_wait() -> None:
    page = Page(js=[YES])

    judge(page, JsCheck(js="1"), JsCheck(js="2"), JsCheck(js="3"), timeout_s=12)

    first, second, third = page.timeouts
    assert 3500 < first <= 4000
    assert 5500 < second <= 6000
    assert 11_000 < third <= 12_000


def test_a_page_that_is_closed_is_waited_for_all_the_same(tmp_path: Path) -> None:
    page = Page()
    page.closed = True
    began = time.monotonic()

    result = one(
        page, FileCheck.model_validate({"file": {"path": str(tmp_path / "x")}}), timeout_s=0.25
    )

    assert result.passed is False
    assert page.waited[:2] == [100, 100]
    assert time.monotonic() - began > 0.2


def test_a_check_that_fails_in_any_way_is_open_until_a_later_look() -> None:
    page = Page(fails=True)

    class Late(Page):
        def wait_for_timeout(self, milliseconds: float) -> None:
            self.fails = False

    assert one(page, JsCheck(js="1")).passed is None
    assert one(Late(fails=True, js=[YES]), JsCheck(js="1"), timeout_s=30).passed is True
    back = Late(js=[NO])
    assert one(back, JsCheck(js="1"), timeout_s=0.05).message == ""


def test_a_result_has_what_the_check_brought_along() -> None:
    checks = [
        JsCheck(js="1", weight=2.5, message="paid?"),
        JsCheck(js="hunter2" * 100),
        TextCheck(text="x"),
    ]
    page = Page(js=[{"truthy": True, "shown": "hunter2 " + "y" * 600, "error": ""}])

    def redact(text: str) -> str:
        return text.replace("hunter2", "***")

    first, second, third = judge(page, *checks, checksums=["a", "b"], redact=redact)

    assert (first.index, first.type, first.weight, first.message) == (0, "js", 2.5, "paid?")
    assert (first.checksum, second.checksum, third.checksum) == ("a", "b", "")
    assert first.actual == "*** " + "y" * 495 + "…"
    assert second.expected == "truthy: " + "***" * 100
    assert (third.index, third.type, third.passed, third.advisory) == (2, "text", False, False)
    exactly = Page(js=[{"truthy": True, "shown": "y" * 500, "error": ""}])
    assert one(exactly, checks[0]).actual == "y" * 500


def test_the_message_of_a_check_stands_beside_why_it_is_open() -> None:
    result = one(Page(fails=True), JsCheck(js="1", message="paid?"))

    assert result.message == "paid?; could not be evaluated: Error: the frame is gone"


# -- a model as judge ------------------------------------------------------------------

RUBRIC = JudgeCheck.model_validate({"judge": {"rubric": "Is it paid?"}})


def test_a_model_is_asked_last_and_once() -> None:
    page = Page(js=[NO, YES])
    asked: list[int] = []

    def ask(query: Any, evidence: Evidence) -> RubricFinding:
        asked.append(len(page.timeouts))
        return RubricFinding("fail", "it is open", "m", ("open",), False, Usage(calls=1))

    opinion, fact = judge(page, RUBRIC, JsCheck(js="1"), timeout_s=30, rubric_judge=ask)

    assert (opinion.index, opinion.type, opinion.passed) == (0, "judge", False)
    assert (fact.passed, asked, opinion.usage.calls) == (True, [2], 1)
    assert (opinion.finding, opinion.where, opinion.advisory) == ("fail", "m", False)
    assert (opinion.actual, opinion.message) == ("fail: it is open [“open”]", "")


def test_a_model_without_an_opinion_leaves_the_check_open_with_its_words() -> None:
    def ask(query: Any, evidence: Evidence) -> RubricFinding:
        return RubricFinding("unknown", "it is dark", "m", (), True, Usage(calls=1))

    opinion = one(Page(), RUBRIC, rubric_judge=ask)

    assert summed(opinion) == (None, "unknown: it is dark", "m")
    assert (opinion.finding, opinion.advisory) == ("unknown", True)
    assert "unknown: it is dark" in opinion.message


def test_an_opinion_that_nobody_can_give_is_not_missed() -> None:
    def refuse(query: Any, evidence: Evidence) -> RubricFinding:
        raise NotEvaluated("no model is named")

    def break_down(query: Any, evidence: Evidence) -> RubricFinding:
        raise OSError("  no network\nat all")

    nobody = one(Page(), RUBRIC, rubric_judge=refuse)
    broken = one(Page(), RUBRIC, rubric_judge=break_down)

    assert (nobody.passed, nobody.advisory) == (None, True)
    assert nobody.message == "could not be evaluated: no model is named"
    assert (broken.passed, broken.advisory) == (None, False)
    assert broken.message == "could not be evaluated: OSError: no network"


# -- functions of the user's own -------------------------------------------------------

OWN = """
from pytest_autoweb.checks import CheckVerdict

def holds(context):
    return True

def differs(context, wanted, more=1):
    wanted.append("changed")
    return [context.case_id, context.entry_url, context.user_task, context.answered] == wanted

def shows(context):
    return CheckVerdict(False, "saw it", "there", "ODD", "try again", 0.25)

def plain(context):
    return CheckVerdict(None)

def why(context):
    return CheckVerdict(None, reason="closed")

def whole(context):
    return CheckVerdict(True, credit=1)

def none(context):
    return CheckVerdict(False, credit=0)

def above(context):
    return CheckVerdict(True, credit=1.01)

def below(context):
    return CheckVerdict(True, credit=-0.01)

def text(context):
    return "yes"

def raises(context):
    raise ValueError("bad\\\\nworse")

def silent(context):
    raise ValueError

def leaves(context):
    raise SystemExit(3)

def reads(context):
    return context.text() == "Your cart\\\\n2 items\\\\nPaid" and context.url.endswith("/cart")

def asks(context):
    return context.evaluate("shop") == {"a": 1}

def changes(context):
    context.answer["items"].append("milk")
    return context.answer == {"items": ["tea", "milk"]} and context.answered

def sees(context):
    return (context.requests, context.downloads, context.actions) == ((1,), (2,), (3,))
"""


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., CheckResult]]:
    """Judges by a function of a module beside the case."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "page_check_functions.py").write_text(OWN.replace("\\\\", "\\"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)

        def judged(
            function: str, page: Page | None = None, answer: Any = None, **arguments: Any
        ) -> CheckResult:
            python = f"page_check_functions:{function}"
            check = PythonCheck.model_validate({"python": python, "with": arguments})
            return one(
                page or Page(),
                check,
                answer=answer,
                case_path=folder / "shop.yaml",
                case_id="pay",
                entry_url=URL,
                user_task="Pay.",
                wire=[1],
                downloads=[2],
                actions=[3],
            )

        yield judged


def test_a_function_of_ones_own_decides(own: Callable[..., CheckResult]) -> None:
    held = own("holds")

    assert summed(held) == (True, "it returned True", "page_check_functions:holds")
    assert held.expected == "page_check_functions:holds"
    differs = own("differs", wanted=["pay", URL, "Pay.", False])
    assert differs.passed is False
    assert differs.expected.startswith('page_check_functions:differs with {"wanted": ["pay", ')
    assert '"changed"' not in differs.expected
    paid = Frame(text="Paid")
    page = Page(paid, Frame(text=" "), text="Your  cart\n\n2 items")
    assert own("reads", page).passed is True
    assert (page.timeouts, paid.timeouts) == ([10_000], [1000])
    assert own("sees").passed is True


def test_a_function_has_an_answer_of_its_own(own: Callable[..., CheckResult]) -> None:
    given = {"items": ["tea"]}

    assert own("changes", answer=given).passed is True
    assert given == {"items": ["tea"]}


def test_a_function_may_run_a_script_in_the_page(own: Callable[..., CheckResult]) -> None:
    page = Page(js=[{"value": {"a": 1}}])

    assert own("asks", page).passed is True
    assert page.timeouts == [10_000]
    assert "(shop\n  )" in page.codes[0]


def test_a_function_may_say_more(own: Callable[..., CheckResult]) -> None:
    shown = own("shows")

    assert summed(shown) == (False, "saw it", "there")
    assert (shown.finding, shown.hint, shown.credit) == ("ODD", "try again", 0.25)
    assert (own("whole").credit, own("none").credit) == (1, 0)
    assert summed(own("whole")) == (True, "it returned True", "page_check_functions:whole")
    assert CheckVerdict(True) == CheckVerdict(True, "", "", "", "", None, "")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        ("plain", "no reason given"),
        ("why", "closed"),
        ("above", "page_check_functions:above gave 1.01 as credit, which is not from 0 to 1"),
        ("below", "page_check_functions:below gave -0.01 as credit, which is not from 0 to 1"),
        ("text", "page_check_functions:text returned str, not bool or CheckVerdict"),
        ("raises", "ValueError: bad (page_check_functions.py, line 36)"),
        ("silent", "ValueError (page_check_functions.py, line 39)"),
        ("leaves", "SystemExit: 3 (page_check_functions.py, line 42)"),
        ("nowhere", "module 'page_check_functions' has no function 'nowhere'"),
    ],
)
def test_a_function_that_cannot_decide_says_why(
    own: Callable[..., CheckResult], function: str, reason: str
) -> None:
    result = own(function)

    assert result.passed is None
    assert result.message == f"could not be evaluated: {reason}"


def test_an_error_elsewhere_is_told_with_its_place(own: Callable[..., CheckResult]) -> None:
    result = own("reads", Page(fails=True))

    assert "Error: the frame is gone (page_check_functions.py, line 45)" in result.message
