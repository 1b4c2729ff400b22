"""Cases on the command line."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.errors import CaseError
from pytest_autoweb.cases.loader import load_inline


def parsed(text: str) -> list[tuple[str, str, str]]:
    cases = [case.resolve(None) for case in load_inline(text)]
    return [(case.id, case.entry_url, case.user_task) for case in cases]


@pytest.mark.parametrize(
    ("text", "url", "task"),
    [
        ("http://a.test/x?y=1|||Buy tea", "http://a.test/x?y=1", "Buy tea"),
        (" Buy tea ||| https://a.test ", "https://a.test", "Buy tea"),
        ("Buy tea at https://a.test/b.", "https://a.test/b", "Buy tea at https://a.test/b."),
        ("(see http://a.test/b) Buy", "http://a.test/b", "(see http://a.test/b) Buy"),
        ("Read http://a.test/b_(c), now", "http://a.test/b_(c)", "Read http://a.test/b_(c), now"),
        ("打开https://a.test/登录，买茶", "https://a.test/登录", "打开https://a.test/登录，买茶"),
        ("http://a.test/|||Type {{ x }} in", "http://a.test/", "Type {{ x }} in"),
        ("http://a.test/|||see http://b.test/", "http://a.test/", "see http://b.test/"),
    ],
)
def test_a_url_is_found_on_either_side_or_in_the_task(text: str, url: str, task: str) -> None:
    assert parsed(text) == [("1", url, task)]


def test_cases_are_numbered_and_empty_segments_skipped() -> None:
    assert parsed("http://a.test/|||A;; ;;http://b.test/|||B;;") == [
        ("1", "http://a.test/", "A"),
        ("2", "http://b.test/", "B"),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no case given"),
        (";; ;;", "no case given"),
        ("http://a.test/|||A;;Buy tea", "case 2: holds no http"),
        ("a.test|||Buy tea", "case 1: neither side is an http"),
        ("http://a.test/", "case 1: has no task"),
        ("http://a.test/|||", "case 1: has no task"),
        ("http://a.test/|||A|||B", "has more than one"),
    ],
)
def test_a_case_without_url_or_task_is_refused(text: str, reason: str) -> None:
    with pytest.raises(CaseError, match=r"^inline cases: ") as caught:
        load_inline(text)

    assert reason in str(caught.value)


def test_an_inline_case_has_no_file_server_or_checks() -> None:
    case: Any = load_inline("http://a.test/|||A")[0]

    assert (case.path, case.line, case.webserver, case.has_expect) == (None, 1, None, False)


@given(st.text(alphabet=st.sampled_from("ab :/.|;htps{}<>\n，"), max_size=80))
def test_any_text_gives_cases_or_a_case_error(text: str) -> None:
    try:
        cases = load_inline(text)
    except CaseError:
        return

    assert [case.id for case in cases] == [str(n) for n in range(1, len(cases) + 1)]
    assert all(case.entry_url_template.startswith("http") for case in cases)
