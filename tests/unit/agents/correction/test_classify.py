"""The classifier on facts, and on messages from which nothing has learnt."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_autoweb.agents.correction.failure_types import cause_of, classify, classify_failure
from pytest_autoweb.base.language import NEVER_TOUCHED, NO_CODE_FOR_STEP, NO_CODE_IN_REPLY
from pytest_autoweb.results.records import Failure, FailureKind, Finding

ROOT = Path(__file__).parents[4]
DOCS = (ROOT / "docs/calibration.md").read_text(encoding="utf-8")


def read_rows(name: str) -> list[dict[str, Any]]:
    lines = (ROOT / "benchmarks" / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def verdicts(rows: list[dict[str, Any]]) -> list[tuple[bool, bool]]:
    """Return of each row whether its type is right, and whether it is clear."""
    found = (
        classify(row["message"], error_type=row.get("error_type", ""), status=row.get("status"))
        for row in rows
    )
    return [
        (one.type == row["label"], one.clear and one.by != "none")
        for one, row in zip(found, rows, strict=True)
    ]


@pytest.mark.parametrize(
    ("part", "least", "least_clear"),
    [("again", 0.96, 0.98), ("fifth", 0.91, 0.955), ("ninth", 0.63, 0.88)],
)
def test_types_and_above_all_clear_ones_are_right_as_often_as_published_on_messages_never_learnt(
    part: str, least: float, least_clear: float
) -> None:
    rows = [row for row in read_rows("held_out.jsonl") if row["part"] == part]
    found = verdicts(rows)
    right = sum(true for true, _ in found)
    clear = [true for true, sure in found if sure]

    assert right / len(rows) >= least
    assert sum(clear) / len(clear) >= least_clear
    # A type may not be clear so seldom that clear ones are right for free.
    assert len(clear) / len(rows) >= 0.3
    told = re.search(rf"^\| `{part}`.*$", DOCS, re.MULTILINE)
    assert told is not None
    assert f"| {right} of {len(rows)} |" in told[0]
    assert told[0].endswith(f"| {sum(clear)} of {len(clear)} |")


def test_no_held_out_message_is_twice_or_among_those_that_are_learnt_from_here() -> None:
    held_out = [row["message"] for row in read_rows("held_out.jsonl")]

    assert len(held_out) == len(set(held_out)) >= 700
    assert not {row["message"] for row in read_rows("common_messages.jsonl")} & set(held_out)


def test_common_messages_in_six_languages_are_known() -> None:
    found = verdicts(read_rows("common_messages.jsonl"))
    assert sum(true for true, _ in found) / len(found) >= 0.95


SEED = {
    "PARAMETER_ERROR": "参数错误 参数格式 invalid_parameter parameter missing_required 缺少必填 "
    "类型不匹配",
    "PERMISSION_ERROR": "权限不足 无权 forbidden unauthorized access_denied 禁止访问 Token过期",
    "SERVICE_UNAVAILABLE": "服务不可用 超时 timeout service_unavailable connection_refused "
    "连接失败",
    "DATA_NOT_FOUND": "未找到 不存在 not_found no_data empty_result 查无此 批次不存在 "
    "记录为空 条件过严",
    "VALIDATION_ERROR": "验证失败 校验 validation_failed invalid 格式错误 不合法 "
    "业务规则违反 数据不合法",
    "BUSINESS_ERROR": "业务异常 操作不允许 business_error 状态不允许 流程错误 库存不足 流程约束",
    "RESOURCE_CONFLICT": "冲突 已存在 conflict duplicate 重复 并发修改 锁定资源",
    "UNKNOWN": "未分类错误 系统异常",
}
"""The keywords of the seed's table, and the examples of its diagram of types."""


@pytest.mark.parametrize(
    ("word", "kind"),
    [(word.replace("_", " "), kind) for kind, words in SEED.items() for word in words.split()],
)
def test_the_seeds_own_words_have_the_types_of_its_table(word: str, kind: str) -> None:
    assert classify(word).type == kind


def test_a_message_without_any_known_word_has_no_type() -> None:
    for message in ("Hmm", "xyzzy 17", "嗯", "Tja", "blub " * 1_000 + "not found"):
        assert classify(message).type == "UNKNOWN"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("参数错误：page 应为整数", "PARAMETER_ERROR"),
        ("缺少必填参数：id", "PARAMETER_ERROR"),
        ("the row was not drawn: KeyError: 'total'", "PARAMETER_ERROR"),
        ("RecursionError: maximum recursion depth exceeded", "PARAMETER_ERROR"),
        ("Veuillez renseigner ce champ.", "VALIDATION_ERROR"),
        ("Fülle dieses Feld aus.", "VALIDATION_ERROR"),
        ("Completa este campo", "VALIDATION_ERROR"),
        ("Provider returned error (after 3 tries)", "UNKNOWN"),
    ],
)
def test_words_are_read_in_the_language_of_the_message(message: str, kind: str) -> None:
    assert classify(message).type == kind


@pytest.mark.parametrize(
    ("kind", "message", "expected"),
    [
        ("limit", "the model goes in circles: [5] was clicked 3 times", "PARAMETER_ERROR"),
        ("limit", "4 decisions in a row came to nothing: not found", "PARAMETER_ERROR"),
        ("limit", "30 decisions were not enough", "PARAMETER_ERROR"),
        ("timeout", "the attempt's 60 s are over", "SERVICE_UNAVAILABLE"),
    ],
)
def test_the_ways_in_which_act_itself_ends_have_a_type_unless_evidence_says_more(
    kind: FailureKind, message: str, expected: str
) -> None:
    failure = Failure(kind=kind, message=message)
    alone = cause_of(failure, ())
    ill = cause_of(failure, [Finding(code="server_status", fact="GET /", status=500)])

    assert alone is not None
    assert ill is not None
    assert (alone.type, alone.web_kind) == (expected, "limit")
    assert ill.type == "SERVICE_UNAVAILABLE"


@pytest.mark.parametrize(
    ("kind", "message", "rule", "expected"),
    [
        ("step", NO_CODE_FOR_STEP, None, ("PARAMETER_ERROR", "script_error")),
        ("step", NEVER_TOUCHED, None, ("PARAMETER_ERROR", "script_error")),
        ("step", "the continued step took another path: Not found", None,
         ("SERVICE_UNAVAILABLE", "limit")),
        ("lint", NO_CODE_IN_REPLY, None, ("PARAMETER_ERROR", "script_error")),
        ("plan", "line 1: e9 is not on the page; which task?", None,
         ("PARAMETER_ERROR", "plan_empty")),
        ("plan", "the plan needs input: which one", None, ("PARAMETER_ERROR", "question")),
        ("sandbox", "the case lists no file 'x' (files: none)", "AW502",
         ("PARAMETER_ERROR", "refused")),
        ("sandbox", "expect(Page).foo is not available", "AW504", ("PARAMETER_ERROR", "refused")),
        ("sandbox", "blocked: http://other", "AW501", ("PERMISSION_ERROR", "refused")),
        ("sandbox", "the code used more than 512 MB of memory", "AW506",
         ("PARAMETER_ERROR", "limit")),
        ("sandbox", "the agent closed its browser", None, ("PERMISSION_ERROR", "refused")),
        ("limit", "20 calls of the model were not enough", None, ("PARAMETER_ERROR", "limit")),
        ("timeout", "the agent's 60 s are over", None, ("SERVICE_UNAVAILABLE", "limit")),
        ("killed", "the test process died while it ran the cell", None,
         ("SERVICE_UNAVAILABLE", "page_lost")),
        ("agent", "the program ended: not found", None, ("SERVICE_UNAVAILABLE", "")),
        ("internal", "judge: ValueError: not found", None, ("UNKNOWN", "")),
        ("fixture", "setup failed: permission denied", None, ("UNKNOWN", "")),
        ("navigation", "http://x/ could not be opened: no connection", None,
         ("SERVICE_UNAVAILABLE", "navigation")),
    ],
)  # fmt: skip
def test_the_pipelines_own_name_decides_and_not_a_word_of_its_sentence(
    kind: FailureKind, message: str, rule: str | None, expected: tuple[str, str]
) -> None:
    found = classify_failure(Failure(kind=kind, message=message, rule=rule))

    assert (found.type, found.web_kind) == expected
    assert found.by == "kind"


@pytest.mark.parametrize("written", [NO_CODE_FOR_STEP, f"Step 2: {NO_CODE_FOR_STEP}"])
def test_the_pipelines_own_sentence_is_known_where_a_report_or_a_person_quotes_it(
    written: str,
) -> None:
    for message in (written, written.replace("no code", "No code")):
        assert classify(message).type == "PARAMETER_ERROR"


def test_a_choice_is_typed_by_what_became_of_it_and_not_by_the_page_that_it_quotes() -> None:
    said = "Error: [8] does not match: expected 'Next', but it reads 'Permission denied'"
    for evidence, expected in (
        ({"verdict": "mismatch"}, "PARAMETER_ERROR"),
        ({"location": "not_found"}, "DATA_NOT_FOUND"),
    ):
        failure = Failure(kind="step", message=said, evidence={"detail": said, **evidence})
        assert classify_failure(failure).type == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [("Red is out of stock", "BUSINESS_ERROR"), ("Someone else saved", "RESOURCE_CONFLICT")],
)
def test_a_409_with_a_rule_of_the_shop_on_the_page_is_no_conflict(said: str, expected: str) -> None:
    failure = Failure(kind="check", message="check 1 (text) does not hold")
    found = cause_of(
        failure,
        [
            Finding(code="server_status", fact="POST /cart: 409", status=409),
            Finding(code="page_says", fact=f'the page says "{said}"'),
        ],
    )

    assert found is not None
    assert found.type == expected


def test_a_timeout_for_an_element_is_no_service_that_is_down() -> None:
    said = (
        'Locator.click: Timeout 5000ms exceeded.\nCall log:\n  - waiting for get_by_role("button")'
    )
    assert classify(said, error_type="TimeoutError").type == "DATA_NOT_FOUND"


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("Welcome back", "UNKNOWN"),
        ("验证失败", "VALIDATION_ERROR"),
        ("启用两步验证失败,系统出现未知错误,请稍后再试", "SERVICE_UNAVAILABLE"),
        ("Invalid", "VALIDATION_ERROR"),
        ("Invalid cursor parameter.", "PARAMETER_ERROR"),
        ("Your session token is invalid, please log in again", "PERMISSION_ERROR"),
    ],
)
def test_a_key_word_decides_only_where_it_is_most_of_the_message(message: str, kind: str) -> None:
    assert classify(message).type == kind


def test_the_words_that_weighed_most_are_told_as_the_message_writes_them() -> None:
    found = classify("The invoice 17 could not be found anywhere")

    assert (found.type, found.by) == ("DATA_NOT_FOUND", "keyword")
    assert found.matched
    assert found.matched in "The invoice 17 could not be found anywhere"


def test_a_long_log_is_not_weighed_and_its_key_words_are_not_clear() -> None:
    log = "coffee " * 100
    found = classify(log + "record not found")

    assert classify(log).type == "UNKNOWN"
    assert (found.type, found.clear) == ("DATA_NOT_FOUND", False)
