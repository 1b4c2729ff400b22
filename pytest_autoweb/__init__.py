"""Run YAML web tasks on many LLMs under pytest, and compare them honestly.

The names in `__all__` are the public interface, together with those of `pytest_autoweb.checks`,
`pytest_autoweb.stages` and `pytest_autoweb.testing`; docs/api.md describes every one of them and
says how stable they are. Everything else in the package is private and may change at any time.

Each name is imported from its home when somebody first asks for it: every pytest session imports
this package, and one that names no models must not pay for what hooks need.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_autoweb.agents.attempt.strategy import CorrectionArm, Strategy
    from pytest_autoweb.agents.locate.interview import VisionModel
    from pytest_autoweb.agents.locate.locator import Sight
    from pytest_autoweb.base.errors import AutowebError, ModelError
    from pytest_autoweb.browser.marks.marking import mark_page
    from pytest_autoweb.browser.page.capture import CaptureMode, NotPossible, ShownPage
    from pytest_autoweb.cases.case import Case
    from pytest_autoweb.models.client import Client
    from pytest_autoweb.models.messages import Message, Reply, Request
    from pytest_autoweb.models.model_spec import ModelSpec
    from pytest_autoweb.report.gates.gate_context import Gate, GateContext
    from pytest_autoweb.report.json_report import PanelContent, Report
    from pytest_autoweb.report.panels import Panel
    from pytest_autoweb.results.records import CellResult, Failure, Usage
    from pytest_autoweb.results.runs.loaded_run import Run, load_run
    from pytest_autoweb.results.runs.side_files import GateResult
    from pytest_autoweb.sandbox.engine import Limits, SandboxBorder, StepEngine, StepOutcome
    from pytest_autoweb.session.autoweb_fixture import Autoweb
    from pytest_autoweb.session.autoweb_step import AutowebStep
    from pytest_autoweb.session.registration import Registry

__version__ = "0.2.0"

__all__ = [
    "Autoweb",
    "AutowebError",
    "AutowebStep",
    "CaptureMode",
    "Case",
    "CellResult",
    "Client",
    "CorrectionArm",
    "Failure",
    "Gate",
    "GateContext",
    "GateResult",
    "Limits",
    "Message",
    "ModelError",
    "ModelSpec",
    "NotPossible",
    "Panel",
    "PanelContent",
    "Registry",
    "Reply",
    "Report",
    "Request",
    "Run",
    "SandboxBorder",
    "ShownPage",
    "Sight",
    "StepEngine",
    "StepOutcome",
    "Strategy",
    "Usage",
    "VisionModel",
    "load_run",
    "mark_page",
]

_HOMES = {
    "Autoweb": "pytest_autoweb.session.autoweb_fixture",
    "AutowebError": "pytest_autoweb.base.errors",
    "AutowebStep": "pytest_autoweb.session.autoweb_step",
    "SandboxBorder": "pytest_autoweb.sandbox.engine",
    "CaptureMode": "pytest_autoweb.browser.page.capture",
    "Case": "pytest_autoweb.cases.case",
    "CellResult": "pytest_autoweb.results.records",
    "Client": "pytest_autoweb.models.client",
    "CorrectionArm": "pytest_autoweb.agents.attempt.strategy",
    "Failure": "pytest_autoweb.results.records",
    "Gate": "pytest_autoweb.report.gates.gate_context",
    "GateContext": "pytest_autoweb.report.gates.gate_context",
    "GateResult": "pytest_autoweb.results.runs.side_files",
    "Limits": "pytest_autoweb.sandbox.engine",
    "Message": "pytest_autoweb.models.messages",
    "ModelError": "pytest_autoweb.base.errors",
    "ModelSpec": "pytest_autoweb.models.model_spec",
    "NotPossible": "pytest_autoweb.browser.page.capture",
    "Panel": "pytest_autoweb.report.panels",
    "PanelContent": "pytest_autoweb.report.json_report",
    "Registry": "pytest_autoweb.session.registration",
    "Reply": "pytest_autoweb.models.messages",
    "Report": "pytest_autoweb.report.json_report",
    "Request": "pytest_autoweb.models.messages",
    "Run": "pytest_autoweb.results.runs.loaded_run",
    "ShownPage": "pytest_autoweb.browser.page.capture",
    "Sight": "pytest_autoweb.agents.locate.locator",
    "StepEngine": "pytest_autoweb.sandbox.engine",
    "StepOutcome": "pytest_autoweb.sandbox.engine",
    "Strategy": "pytest_autoweb.agents.attempt.strategy",
    "Usage": "pytest_autoweb.results.records",
    "VisionModel": "pytest_autoweb.agents.locate.interview",
    "load_run": "pytest_autoweb.results.runs.loaded_run",
    "mark_page": "pytest_autoweb.browser.marks.marking",
}
"""The module that each public name is imported from."""

if not TYPE_CHECKING:
    # Hidden from type checkers, which would otherwise accept any misspelt name as `Any`.
    def __getattr__(name: str) -> Any:
        """Import a public name from its home and keep it, so that this is called once a name."""
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(_HOMES[name]), name)
        return found


def __dir__() -> list[str]:
    """Return the names that completion offers, including those not imported yet."""
    return sorted({*globals(), *__all__})
