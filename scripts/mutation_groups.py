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
            "pytest_autoweb.analysis.verdict_validity",
        ),
        (
            "tests/unit/judge/test_judge_model.py",
            "tests/unit/report/test_report_comparison.py",
            "tests/unit/report/test_report_controls.py",
            "tests/unit/report/test_report_modes_and_cases.py",
            "tests/unit/report/test_report_pairing.py",
        ),
    ),
    "gates": Group(
        (
            "pytest_autoweb.gates.gate_decision",
            "pytest_autoweb.gates.gate_rules",
        ),
        (
            "tests/unit/report/test_report_gates.py",
            "tests/unit/report/test_report_gate_messages.py",
            "tests/unit/report/test_report_gate_changes.py",
            "tests/unit/report/test_report_gate_decision.py",
        ),
    ),
    "matching": Group(
        (
            "pytest_autoweb.choice.expected_text",
            "pytest_autoweb.choice.partial_text",
            "pytest_autoweb.choice.verify_choice",
        ),
        (
            "tests/unit/act/test_act_comparing.py",
            "tests/unit/act/test_act_matching.py",
            "tests/unit/act/test_act_parts.py",
            "tests/unit/act/test_act_twins.py",
            "tests/unit/act/test_act_verify.py",
        ),
    ),
    "judging": Group(
        (
            "pytest_autoweb.checks.answer_checks",
            "pytest_autoweb.judge.judging",
            "pytest_autoweb.checks.expected_values",
            "pytest_autoweb.checks.page_checks",
            "pytest_autoweb.checks.delegated_checks",
            "pytest_autoweb.checks.server_checks",
            "pytest_autoweb.checks.wire_checks",
            "pytest_autoweb.values.compare_values",
        ),
        (
            "tests/unit/judge/test_judge_answers.py",
            "tests/unit/judge/test_judge_matching.py",
            "tests/unit/judge/test_judge_messages.py",
            "tests/unit/judge/test_judge_page_checks.py",
            "tests/unit/judge/test_judge_python_checks.py",
            "tests/unit/judge/test_judge_score.py",
            "tests/unit/judge/test_judge_server_checks.py",
            "tests/unit/judge/test_judge_values.py",
            "tests/unit/judge/test_judge_wire_checks.py",
            "tests/unit/judge/test_judge_wire_messages.py",
            "tests/unit/values/test_values_reading.py",
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
            "pytest_autoweb.sandbox.call_rules",
            "pytest_autoweb.sandbox.facade",
        ),
        (
            "tests/unit/sandbox/test_sandbox_arguments.py",
            "tests/unit/sandbox/test_sandbox_facade.py",
            "tests/unit/sandbox/test_sandbox_files.py",
            "tests/unit/sandbox/test_sandbox_own_requests.py",
            "tests/unit/sandbox/test_sandbox_reopened_waits.py",
        ),
    ),
    "redaction": Group(
        (
            "pytest_autoweb.redaction",
            "pytest_autoweb.redaction.environment_keys",
            "pytest_autoweb.redaction.key_shapes",
            "pytest_autoweb.redaction.secret_forms",
        ),
        (
            "tests/unit/sandbox/test_key_shapes.py",
            "tests/unit/sandbox/test_redaction.py",
            "tests/unit/store/test_store_address.py",
            "tests/unit/test_redaction_forms.py",
        ),
    ),
    "outcome": Group(
        (
            "pytest_autoweb.session.pytest_outcome",
            "pytest_autoweb.run.corrections",
            "pytest_autoweb.run.prepared_cell",
        ),
        (
            "tests/unit/calibrate/test_calibrate_policy.py",
            "tests/unit/stages/test_cell_checksums.py",
            "tests/unit/stages/test_outcome.py",
        ),
    ),
}

NOT_ASKED = frozenset(
    (
        "tests/unit/act/test_act_actions.py",
        "tests/unit/browser/test_browser_har.py",
        "tests/unit/cases/test_cases_docs.py",
        "tests/unit/cases/test_cases_loading.py",
        "tests/unit/llm/test_llm_cassettes.py",
        "tests/unit/llm/test_llm_keys.py",
        "tests/unit/record/test_record_oracle.py",
        "tests/unit/stages/test_script.py",
        "tests/unit/report/test_report_comment.py",
        "tests/unit/report/test_report_history.py",
        "tests/unit/report/test_report_outputs_hostile.py",
        "tests/unit/report/test_report_panels.py",
        "tests/unit/sandbox/test_sandbox_fuzz_lint.py",
        "tests/unit/sandbox/test_step_language_docs.py",
        "tests/unit/store/test_store_queries.py",
        "tests/unit/test_compare_command.py",
    )
)
"""Unit tests that import one of the modules and still are in no group: they take long, or they are
about something else."""
