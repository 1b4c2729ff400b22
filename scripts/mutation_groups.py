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
        ("pytest_autoweb.results.analysis.statistics",),
        (
            "tests/unit/results/analysis/test_statistics.py",
            "tests/unit/results/analysis/test_statistics_borders.py",
            "tests/unit/results/analysis/test_statistics_promises.py",
            "tests/unit/results/analysis/test_statistics_reference.py",
            "tests/unit/results/analysis/test_price.py",
            "tests/unit/results/analysis/test_scores.py",
            "tests/unit/results/analysis/test_switching.py",
        ),
    ),
    "early": Group(
        (
            "pytest_autoweb.results.analysis.e_process",
            "pytest_autoweb.results.analysis.early_decision",
        ),
        ("tests/unit/results/analysis/test_early_decision.py",),
    ),
    "comparison": Group(
        (
            "pytest_autoweb.results.analysis.counted_outcomes",
            "pytest_autoweb.results.analysis.pairing",
            "pytest_autoweb.results.analysis.comparison_sides",
            "pytest_autoweb.results.analysis.comparison",
            "pytest_autoweb.results.analysis.controls",
            "pytest_autoweb.results.analysis.judge_agreement",
        ),
        (
            "tests/unit/judging/test_model.py",
            "tests/unit/results/analysis/test_comparison.py",
            "tests/unit/results/analysis/test_chance.py",
            "tests/unit/results/analysis/test_controls.py",
            "tests/unit/report/test_modes_and_cases.py",
            "tests/unit/results/analysis/test_pairing.py",
        ),
    ),
    "blame": Group(
        (
            "pytest_autoweb.results.analysis.blaming",
            "pytest_autoweb.results.analysis.served",
        ),
        (
            "tests/unit/results/analysis/test_blaming.py",
            "tests/unit/results/analysis/test_served.py",
        ),
    ),
    "gates": Group(
        (
            "pytest_autoweb.report.gates.baseline_gates",
            "pytest_autoweb.report.gates.case_groups",
            "pytest_autoweb.report.gates.cost_gates",
            "pytest_autoweb.report.gates.gate_context",
            "pytest_autoweb.report.gates.gate_decision",
            "pytest_autoweb.report.gates.gate_policy",
            "pytest_autoweb.report.gates.outcome_gates",
        ),
        (
            "tests/unit/report/gates/test_gates.py",
            "tests/unit/report/gates/test_gate_messages.py",
            "tests/unit/report/gates/test_gate_changes.py",
            "tests/unit/report/gates/test_gate_decision.py",
        ),
    ),
    "matching": Group(
        (
            "pytest_autoweb.agents.choice.expected_text",
            "pytest_autoweb.agents.choice.partial_text",
            "pytest_autoweb.agents.choice.verify_choice",
        ),
        (
            "tests/unit/agents/choice/test_comparing.py",
            "tests/unit/agents/choice/test_matching.py",
            "tests/unit/agents/choice/test_parts.py",
            "tests/unit/agents/choice/test_twins.py",
            "tests/unit/agents/choice/test_verify.py",
        ),
    ),
    "judging": Group(
        (
            "pytest_autoweb.judging.checks.answer_checks",
            "pytest_autoweb.judging.verdicts",
            "pytest_autoweb.judging.checks.compared_values",
            "pytest_autoweb.judging.checks.expected_values",
            "pytest_autoweb.judging.checks.shown_passage",
            "pytest_autoweb.judging.checks.page_checks",
            "pytest_autoweb.judging.checks.delegated_checks",
            "pytest_autoweb.judging.checks.server_checks",
            "pytest_autoweb.judging.checks.wire_checks",
            "pytest_autoweb.base.values.compare_values",
        ),
        (
            "tests/unit/judging/checks/test_answers.py",
            "tests/unit/judging/checks/test_matching.py",
            "tests/unit/judging/checks/test_messages.py",
            "tests/unit/judging/checks/test_page_checks.py",
            "tests/unit/judging/checks/test_python_checks.py",
            "tests/unit/judging/test_score.py",
            "tests/unit/judging/checks/test_server_checks.py",
            "tests/unit/judging/checks/test_values.py",
            "tests/unit/judging/checks/test_wire_checks.py",
            "tests/unit/judging/checks/test_wire_messages.py",
            "tests/unit/base/values/test_reading.py",
        ),
    ),
    "lint": Group(
        ("pytest_autoweb.sandbox.lint",),
        (
            "tests/unit/sandbox/test_lint.py",
            "tests/unit/sandbox/test_lint_bundled.py",
            "tests/unit/sandbox/test_lint_findings.py",
        ),
    ),
    "facade": Group(
        (
            "pytest_autoweb.sandbox.cell_files",
            "pytest_autoweb.sandbox.facade",
            "pytest_autoweb.sandbox.measured_readings",
            "pytest_autoweb.sandbox.own_requests",
            "pytest_autoweb.sandbox.page_addresses",
            "pytest_autoweb.sandbox.page_scripts",
            "pytest_autoweb.sandbox.typed_secrets",
        ),
        (
            "tests/unit/sandbox/test_arguments.py",
            "tests/unit/sandbox/test_facade.py",
            "tests/unit/sandbox/test_files.py",
            "tests/unit/sandbox/test_late_calls.py",
            "tests/unit/sandbox/test_measured_readings.py",
            "tests/unit/sandbox/test_own_requests.py",
            "tests/unit/sandbox/test_page_scripts.py",
            "tests/unit/sandbox/test_reopened_waits.py",
        ),
    ),
    "redaction": Group(
        (
            "pytest_autoweb.base.redaction",
            "pytest_autoweb.base.redaction.environment_keys",
            "pytest_autoweb.base.redaction.http_credentials",
            "pytest_autoweb.base.redaction.key_shapes",
            "pytest_autoweb.base.redaction.secret_forms",
        ),
        (
            "tests/unit/base/redaction/test_environment_keys.py",
            "tests/unit/base/redaction/test_key_shapes.py",
            "tests/unit/base/redaction/test_redaction.py",
            "tests/unit/store/test_address.py",
            "tests/unit/base/redaction/test_redaction_forms.py",
        ),
    ),
    "outcome": Group(
        (
            "pytest_autoweb.session.pytest_outcome",
            "pytest_autoweb.cell.cell_outcome",
            "pytest_autoweb.cell.checksums",
            "pytest_autoweb.cell.corrections",
        ),
        (
            "tests/unit/agents/correction/test_policy.py",
            "tests/unit/cell/test_cell_checksums.py",
            "tests/unit/session/test_outcome.py",
        ),
    ),
}

NOT_ASKED = frozenset(
    (
        "tests/unit/agents/chance/test_random_actions.py",
        "tests/unit/agents/act/test_actions.py",
        "tests/unit/judging/evidence/test_har.py",
        "tests/unit/docs/test_cases.py",
        "tests/unit/cases/test_loading.py",
        "tests/unit/models/test_cassettes.py",
        "tests/unit/models/test_keys.py",
        "tests/unit/tools/record/test_oracle.py",
        "tests/unit/agents/attempt/test_script.py",
        "tests/unit/report/test_comment.py",
        "tests/unit/results/analysis/test_history.py",
        "tests/unit/results/analysis/test_resistance.py",
        "tests/unit/results/analysis/test_stress_rows.py",
        "tests/unit/report/test_outputs_hostile.py",
        "tests/unit/sandbox/test_fuzz_lint.py",
        "tests/unit/sandbox/test_step_language_docs.py",
        "tests/unit/store/test_queries.py",
        "tests/unit/cli/test_compare_command.py",
        "tests/unit/cli/test_blame_command.py",
    ),
)
"""Unit tests that import one of the modules and still are in no group: they take long, or they are
about something else."""
