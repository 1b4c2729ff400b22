"""The values a run produces: from one tool call up to a cell, as saved in `cell.json`.

All are frozen pydantic models; a stage returns a changed copy. The saved names are the contract
of the report (format `CELL_FORMAT`), so a renamed field is a format change.
"""

from pytest_autoweb.results.attempt import Attempt, AttemptFields, total_usage
from pytest_autoweb.results.calibration import Classification, Correction, Finding
from pytest_autoweb.results.cell import (
    CELL_FORMAT,
    CELL_VERSION,
    ArmRun,
    CellResult,
    PlannedCell,
)
from pytest_autoweb.results.check import CheckResult
from pytest_autoweb.results.decision import ChosenMark, Decision, DecisionStatus, Verdict
from pytest_autoweb.results.exchange import Exchange
from pytest_autoweb.results.failure import Failure, LintFinding
from pytest_autoweb.results.location import Location, LocatorAlgorithm, LocatorStatus, Probe
from pytest_autoweb.results.record import CaptureModeName, CorrectionArmName, Record
from pytest_autoweb.results.run import RunInfo
from pytest_autoweb.results.steps import PlanStep, Scene, Snapshot, StepResult, ToolCall
from pytest_autoweb.results.usage import Usage
from pytest_autoweb.results.words import FailureKind, Outcome, StageName, StepStatus

__all__ = [
    "CELL_FORMAT",
    "CELL_VERSION",
    "ArmRun",
    "Attempt",
    "AttemptFields",
    "CaptureModeName",
    "CellResult",
    "CheckResult",
    "ChosenMark",
    "Classification",
    "Correction",
    "CorrectionArmName",
    "Decision",
    "DecisionStatus",
    "Exchange",
    "Failure",
    "FailureKind",
    "Finding",
    "LintFinding",
    "Location",
    "LocatorAlgorithm",
    "LocatorStatus",
    "Outcome",
    "PlanStep",
    "PlannedCell",
    "Probe",
    "Record",
    "RunInfo",
    "Scene",
    "Snapshot",
    "StageName",
    "StepResult",
    "StepStatus",
    "ToolCall",
    "Usage",
    "Verdict",
    "total_usage",
]
