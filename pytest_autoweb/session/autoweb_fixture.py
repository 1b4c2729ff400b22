"""The value of the `autoweb` fixture, by which people who write Python run single cases."""

from contextlib import nullcontext
from pathlib import Path

import pytest

from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.base.waiting.hidden_loop import loop_hidden
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.cell.cell_inputs import Cell
from pytest_autoweb.results.records import CellResult
from pytest_autoweb.results.runs.saving import cell_folder
from pytest_autoweb.session.axes import deployment_of, strategy_name
from pytest_autoweb.session.cell_run import HIDDEN, run_with_fixtures
from pytest_autoweb.session.playwright_fixtures import shares_browser
from pytest_autoweb.session.pytest_outcome import describe
from pytest_autoweb.session.refused_sessions import usage_error
from pytest_autoweb.session.run_session import SESSION
from pytest_autoweb.session.single_runs import first_result, note_end
from pytest_autoweb.settings.run_settings import captures


class Autoweb:
    """The value of the `autoweb` fixture."""

    def __init__(self, request: pytest.FixtureRequest) -> None:
        self._request = request
        self._calls = 0

    def run(self, target: str, *, model: str, capture: str | None = None) -> CellResult:
        """Run one case on one model, judged and reported like a collected cell.

        Args:
            target: `path/to/cases.yaml::case-id`, below the rootdir.
            model: any model name that `--autoweb-models` takes.
            capture: a capture mode, in upper or lower case; by default the session's first.

        Raises:
            pytest.UsageError: the target names no case, or the model or the capture mode is
                unknown.
        """
        session = self._request.config.stash[SESSION]
        config, cell = self._request.config, self._cell(target, model, capture)
        # Another plugin may run the test again.
        if (result := first_result(config, session, cell)) is None:
            hidden = config.stash[HIDDEN]
            # A test with its own page uses it afterwards, so the loop stays visible.
            shared = shares_browser(self._request.node)
            with nullcontext() if shared else hidden.shown():
                result = run_with_fixtures(cell, session, self._request)
            note_end(config, session, cell, result)
            with loop_hidden():
                config.hook.pytest_autoweb_cell_finished(result=result)
        # pytest prints the section if the test fails.
        report = session.run_folder / "index.html"
        self._request.node.add_report_section(
            "call", "autoweb", "\n".join((*describe(result), f"  report: {report}"))
        )
        return result

    def _cell(self, target: str, model: str, capture: str | None) -> Cell:
        session = self._request.config.stash[SESSION]
        path, _, case_id = target.partition("::")
        self._calls += 1
        place = deployment_of(session.settings)
        try:
            cases = {
                case.id: case for case in load_case_file(session.settings.rootdir / path, place)
            }
            if case_id not in cases:
                known = ", ".join(sorted(cases))
                raise CaseError(
                    f"there is no case {case_id!r}; the file has: {known}", path=Path(path)
                )
            spec = session.spec_for(model, cases[case_id].way)
            (mode,) = captures(capture) if capture else session.settings.capture_modes[:1]
        except (CaseError, SettingsError, ValueError) as error:
            raise usage_error(str(error)) from None
        test = self._request.node.nodeid
        return Cell(
            case=cases[case_id],
            spec=spec,
            mode=mode,
            repeat=1,
            nodeid=test if self._calls == 1 else f"{test}#{self._calls}",
            case_path=path,
            folder=cell_folder(f"{case_id}@{test}#{self._calls}", model, mode, 1),
            strategy=strategy_name(cases[case_id], spec, session.settings),
        )
