"""What `make mutants` changes, and which tests have to notice: the only list of both.

A group is what can be run by its name. Its tests are the quick ones that cover its modules, so
that one change costs half a second and not minutes.
"""

from typing import NamedTuple


class Group(NamedTuple):
    """Modules that are changed together and the tests that must notice."""

    modules: tuple[str, ...]
    tests: tuple[str, ...]


GROUPS: dict[str, Group] = {
    "statistics": Group(
        ("pytest_autoweb.analysis.statistics",),
        (
            "tests/unit/report/test_report_statistics.py",
            "tests/unit/report/test_report_statistics_borders.py",
            "tests/unit/report/test_report_statistics_promises.py",
            "tests/unit/report/test_report_statistics_reference.py",
        ),
    ),
    "comparison": Group(
        (
            "pytest_autoweb.analysis.pairing",
            "pytest_autoweb.analysis.comparison",
        ),
        (
            "tests/unit/report/test_report_comparison.py",
            "tests/unit/report/test_report_pairing.py",
        ),
    ),
    "gates": Group(
        (
            "pytest_autoweb.gates.gate_context",
            "pytest_autoweb.gates.rules.gate_changes",
            "pytest_autoweb.gates.gate_policy",
            "pytest_autoweb.gates.rules.gate_rates",
        ),
        (
            "tests/unit/report/test_report_gates.py",
            "tests/unit/report/test_report_gate_messages.py",
            "tests/unit/report/test_report_gate_changes.py",
        ),
    ),
    "matching": Group(
        (
            "pytest_autoweb.choice.text_folding",
            "pytest_autoweb.choice.expected_text",
            "pytest_autoweb.choice.verify_choice",
        ),
        (
            "tests/unit/act/test_act_comparing.py",
            "tests/unit/act/test_act_matching.py",
            "tests/unit/act/test_act_twins.py",
            "tests/unit/act/test_act_verify.py",
        ),
    ),
    "judging": Group(
        (
            "pytest_autoweb.checks.answer_checks",
            "pytest_autoweb.judge.judging",
            "pytest_autoweb.checks.value_matching",
            "pytest_autoweb.checks.page_checks",
            "pytest_autoweb.checks.python_checks",
            "pytest_autoweb.checks.matching_records",
            "pytest_autoweb.checks.server_checks",
            "pytest_autoweb.checks.url_matching",
            "pytest_autoweb.checks.wire_checks",
        ),
        (
            "tests/unit/judge/test_judge_answers.py",
            "tests/unit/judge/test_judge_matching.py",
            "tests/unit/judge/test_judge_page_checks.py",
            "tests/unit/judge/test_judge_score.py",
            "tests/unit/judge/test_judge_server_checks.py",
            "tests/unit/judge/test_judge_values.py",
            "tests/unit/judge/test_judge_wire_checks.py",
            "tests/unit/judge/test_judge_wire_messages.py",
        ),
    ),
    "lint": Group(
        ("pytest_autoweb.sandbox.lint",),
        (
            "tests/unit/sandbox/test_sandbox_lint.py",
            "tests/unit/sandbox/test_sandbox_lint_bundled.py",
            "tests/unit/sandbox/test_sandbox_lint_findings.py",
        ),
    ),
    "facade": Group(
        (
            "pytest_autoweb.sandbox.call_arguments",
            "pytest_autoweb.sandbox.facade",
        ),
        (
            "tests/unit/sandbox/test_sandbox_arguments.py",
            "tests/unit/sandbox/test_sandbox_facade.py",
            "tests/unit/sandbox/test_sandbox_files.py",
        ),
    ),
    "redaction": Group(
        ("pytest_autoweb.redaction",),
        (
            "tests/unit/sandbox/test_redaction.py",
            "tests/unit/store/test_store_address.py",
            "tests/unit/test_redaction_forms.py",
        ),
    ),
    "outcome": Group(
        (
            "pytest_autoweb.session.pytest_outcome",
            "pytest_autoweb.run.corrections",
        ),
        ("tests/unit/stages/test_outcome.py",),
    ),
}
