"""The values a run produces, from one tool call up to a cell, as saved in `cell.json`.

They hold data only; `analysis` and `report` compute with them.
"""

from pytest_autoweb.results.attempt import Attempt, AttemptFields, CheckResult, total_usage
from pytest_autoweb.results.cell import (
    CELL_FORMAT,
    CELL_VERSION,
    ArmRun,
    CellResult,
    ModelDescription,
    ModelSetting,
    PlannedCell,
    RunInfo,
    SettingSource,
)
from pytest_autoweb.results.correction import Classification, Correction, Finding
from pytest_autoweb.results.decision import (
    ChosenMark,
    Decision,
    DecisionStatus,
    Location,
    LocatorAlgorithm,
    LocatorStatus,
    Probe,
    RefusalCause,
    Verdict,
)
from pytest_autoweb.results.record import (
    CaptureModeName,
    CorrectionArmName,
    Exchange,
    FailureKind,
    Outcome,
    Record,
    StageName,
    StepStatus,
    Usage,
)
from pytest_autoweb.results.steps import (
    Failure,
    LintFinding,
    PlanStep,
    Scene,
    Snapshot,
    StepResult,
    ToolCall,
)

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
    "ModelDescription",
    "ModelSetting",
    "Outcome",
    "PlanStep",
    "PlannedCell",
    "Probe",
    "Record",
    "RefusalCause",
    "RunInfo",
    "Scene",
    "SettingSource",
    "Snapshot",
    "StageName",
    "StepResult",
    "StepStatus",
    "ToolCall",
    "Usage",
    "Verdict",
    "total_usage",
]
