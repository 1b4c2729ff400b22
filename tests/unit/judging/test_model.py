"""The judging model: what its reply means, who may judge, and how far it agrees with people."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.judging.human_labels import JudgeVerdict, Label, read_labels, write_labels
from pytest_autoweb.judging.model_judge import JudgeSelection, judge_id
from pytest_autoweb.judging.opinion import Opinion, quoted, read_opinion
from pytest_autoweb.models.named_specs import load_specs
from pytest_autoweb.results.analysis.judge_agreement import (
    AGREEMENTS,
    JUDGE_FILE,
    agreement,
    agreement_line,
    agreements,
    save_agreements,
)
from pytest_autoweb.testing import ScriptedClient


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ('{"quotes": ["Welcome"], "reason": "seen", "verdict": "pass"}', "pass"),
        ('```json\n{"verdict": "FAIL", "reason": "r"}\n```', "fail"),
        ('<think>{"verdict": "pass"}</think>{"verdict": "fail"}', "fail"),
        ('I look at {the page}. {"Verdict": "Insufficient evidence"}', "insufficient_evidence"),
        ("**Verdict:** pass\n**Reason:** it is there", "pass"),
        ("结论：通过\n理由：页面显示欢迎\n引用：欢迎", "pass"),
        ("判定： 不通过", "fail"),
        ("- Verdict： captcha", "captcha"),
        ("结论：验证码", "captcha"),
        ('{"结论": "无法完成"}', "impossible"),
        ("Verdict: not satisfied.", "fail"),
    ],
)
def test_a_verdict_is_read_in_json_and_in_lines_in_english_and_chinese(
    reply: str, verdict: str
) -> None:
    opinion = read_opinion(reply)

    assert opinion is not None
    assert opinion.verdict == verdict


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "The page looks good to me, I would let it pass.",
        '{"verdict": "pass|fail"}',
        '{"verdict": true}',
        '{"verdict": "pass"} or rather {"verdict": "fail"}',
        "Verdict: pass\nVerdict: fail",
        "Verdict: pass, I think, or fail",
        '{"verdict": ["pass"]}',
    ],
)
def test_a_reply_with_no_verdict_or_with_two_has_none(reply: str) -> None:
    assert read_opinion(reply) is None


@given(st.text() | st.text(alphabet='{}[]":,verdictpassfail结论：通过\n'))
def test_no_reply_breaks_the_reader(reply: str) -> None:
    opinion = read_opinion(reply)

    assert opinion is None or opinion.verdict


@given(st.recursive(st.none() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=3)))
def test_odd_quotes_are_survived(quotes: Any) -> None:
    opinion = read_opinion(json.dumps({"verdict": "pass", "quotes": quotes, "reason": quotes}))

    assert opinion is not None
    assert all(isinstance(quote, str) and quote for quote in opinion.quotes)


def test_only_quotes_whose_words_stand_in_the_evidence_count() -> None:
    opinion = Opinion("pass", "", ("Welcome,  ana", "welcome bob", "we", "…"))

    assert quoted(opinion, '- heading "Welcome, ana" [level=1]') == ("Welcome,  ana",)


def judges(**settings: Any) -> JudgeSelection:
    names = ["openai/a", "openai/b", "alias", "builtin/noop"]
    specs = load_specs(names)
    specs["alias"] = specs["alias"].model_copy(update={"model": "openai/a"})
    return JudgeSelection(lambda name: specs[name], lambda name: ScriptedClient({}), **settings)


@pytest.mark.parametrize(
    ("named", "settings", "says"),
    [
        (None, {}, "no model is named to judge"),
        ("builtin/noop", {}, "cannot judge"),
        ("openai/a", {"compared": ["openai/a"]}, "one of the models compared"),
        ("alias", {"compared": ["openai/a"]}, "one of the models compared"),
    ],
)
def test_a_judge_must_be_a_model_that_is_not_compared_under_any_name(
    named: str | None, settings: dict[str, Any], says: str
) -> None:
    with pytest.raises(SettingsError, match=says):
        judges(**settings)(named)


def test_a_judge_gives_advice_until_it_is_calibrated() -> None:
    rules = {"default": "openai/b", "compared": ["openai/a"]}
    judge = judges(**rules)(None)
    other = judge_id(judge.spec.model_copy(update={"name": "x", "model": "openai/x"}))

    assert judge.advisory
    assert judges(**rules, calibrated={other})(None).advisory
    assert not judges(**rules, calibrated={judge.id})(None).advisory


def pairs(tp: int, fp: int, fn: int, tn: int, none: int = 0) -> list[tuple[str, str]]:
    return [
        *[("pass", "pass")] * tp,
        *[("fail", "pass")] * fp,
        *[("pass", "fail")] * fn,
        *[("fail", "fail")] * tn,
        *[("pass", "captcha")] * none,
    ]


def test_agreement_is_counted_as_by_hand() -> None:
    found = agreement("m", pairs(20, 5, 10, 15, none=2))

    # Observed 0.7, by chance 0.5 * 0.6 + 0.5 * 0.4 = 0.5; Wilson: statsmodels' proportion_confint.
    assert found.kappa == pytest.approx(0.4)
    assert (found.n, found.no_verdict) == (50, 2)
    both = (found.true_pass, found.false_pass, found.false_fail, found.true_fail)
    assert both == (20, 5, 10, 15)
    assert found.accuracy == pytest.approx(0.7)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((0.56247, 0.80898), abs=1e-4)
    assert (found.precision, found.recall) == pytest.approx((0.8, 20 / 30))
    assert found.calibrated
    assert "35 of 50 labels (70%, 95 % interval 56% to 81%)" in agreement_line(found)


@pytest.mark.parametrize(
    ("counted", "reason"),
    [
        (pairs(9, 0, 0, 10), "at least 20"),
        (pairs(30, 0, 0, 4), "at least 5 of each"),
        (pairs(10, 10, 10, 10), "no better than chance"),
        (pairs(12, 9, 0, 3), "a coin might agree"),
        (pairs(0, 0, 0, 0, none=30), "at least 20"),
        ([], "at least 20"),
    ],
)
def test_a_judge_that_was_not_measured_enough_stays_an_adviser(
    counted: list[tuple[str, str]], reason: str
) -> None:
    found = agreement("m", counted)

    assert not found.calibrated
    assert reason in found.reason
    assert reason in agreement_line(found)


@pytest.mark.parametrize("counted", [pairs(10, 0, 0, 10), pairs(15, 0, 0, 5), pairs(5, 0, 0, 15)])
def test_twenty_labels_that_agree_with_five_of_each_are_enough(
    counted: list[tuple[str, str]],
) -> None:
    assert agreement("m", counted).calibrated


def test_what_was_never_measured_is_told_as_unknown() -> None:
    without = agreement_line(agreement("m", pairs(0, 0, 0, 0, none=2)))
    uniform = agreement_line(agreement("m", pairs(0, 0, 0, 4)))

    assert without.startswith(
        "judge m has no verdict on a labelled cell yet; advice only: 0 labels"
    )
    assert "kappa unknown, precision of pass unknown, recall unknown, no verdict on 0" in uniform
    some = agreement_line(agreement("m", pairs(20, 5, 10, 15)))
    assert "kappa 0.40, precision of pass 80%, recall 67%, no verdict on 0" in some


def test_agreements_survive_their_file(tmp_path: Path) -> None:
    found = agreements({"b": pairs(20, 5, 10, 15), "a": pairs(0, 0, 0, 0, none=1)})

    save_agreements(tmp_path, found)

    text = (tmp_path / JUDGE_FILE).read_text("utf-8")
    assert AGREEMENTS.validate_json(text) == found
    # People read the file and compare two of them line by line.
    assert text.startswith('[\n {\n  "judge": "a",\n  "true_pass": 0,\n')
    assert text.endswith("\n }\n]\n")
    assert [each.judge for each in found] == ["a", "b"]


def test_labels_survive_their_file(tmp_path: Path) -> None:
    label = Label(
        run="20260101_000000_000",
        cell="cells/login/m/ARIA-1",
        attempt=1,
        check=2,
        rubric="Die Seite grüßt: #ana",
        rubric_checksum="ab12",
        human="pass",
        judged=(JudgeVerdict(judge="openai/a (prompt 1)", verdict="fail", reason="no\nline"),),
    )
    write_labels(tmp_path / "labels.yaml", [label])
    file = read_labels(tmp_path / "labels.yaml")

    assert file.labels == (label,)
    assert file.pairs() == {"openai/a (prompt 1)": [("pass", "fail")]}


LABEL = "{run: '1', cell: c, attempt: 1, check: 0, rubric: r, rubric_checksum: x"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("version: 2\nlabels: []\n", "yaml:1"),
        (f"version: 1\nlabels:\n  - {LABEL}, human: passed}}\n", "yaml:3"),
        (f"version: 1\nlabels:\n  - {LABEL}, humann: pass}}\n", "did you mean"),
        (f"version: 1\nlabels:\n  - {LABEL}}}\n  - {LABEL}}}\n", "labelled on line 3"),
        ("version: 1\nlabels:\n  - &a {}\n", "yaml:3"),
    ],
)
def test_a_mistake_in_a_labels_file_is_told_with_its_line(
    tmp_path: Path, text: str, says: str
) -> None:
    path = tmp_path / "labels.yaml"
    path.write_text(text, encoding="utf-8")

    with pytest.raises(CaseError) as caught:
        read_labels(path)

    assert says in str(caught.value)
