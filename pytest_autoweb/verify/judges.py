"""Models that judge `judge` checks again, the only part of verifying that calls models."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_autoweb.analysis.verdict_validity import agreements
from pytest_autoweb.checks.check_type import RubricJudge
from pytest_autoweb.judge.model_judge import JudgedAttempt, JudgeSelection, ModelJudge, read_labels
from pytest_autoweb.llm.client import Client
from pytest_autoweb.llm.gateway import temporary_gateway
from pytest_autoweb.llm.model_spec import ModelSpec, load_project_specs
from pytest_autoweb.results import Attempt, CellResult
from pytest_autoweb.verify.verify_run import Judge


@contextmanager
def asked_judges(
    compared: Sequence[str],
    *,
    default: str,
    labels: Path | None,
    rootdir: Path,
    max_cost: float | None,
) -> Iterator[Judge]:
    """Provide judges of attempts, with a gateway that starts at the first question.

    Args:
        compared: the models of the run, none of which may judge.
        default: the judging model for checks that name none.
        labels: a file of human verdicts; only judges that agree with them decide, others advise.
        rootdir: the folder whose `pyproject.toml` has the settings of models.
        max_cost: the most US dollars that all questions together may cost.

    Raises:
        CaseError: the labels cannot be read.
    """
    pairs = read_labels(labels).pairs() if labels else {}
    with temporary_gateway(max_cost) as gateway:

        def spec(model: str) -> ModelSpec:
            # The stored copy has the page's text but not its look, so a picture would mislead.
            found = load_project_specs((model,), rootdir, None)[model]
            return found.model_copy(update={"vision": False})

        def client(model: str) -> Client:
            gateway.add(spec(model))
            return gateway

        selection = JudgeSelection(
            spec,
            client,
            default=default,
            compared=compared,
            calibrated={found.judge for found in agreements(pairs) if found.calibrated},
        )

        def judge(cell: CellResult, attempt: Attempt) -> RubricJudge:
            place = JudgedAttempt(
                case_id=cell.case_id,
                user_task=cell.user_task,
                capture_mode=cell.capture_mode,
                repeat=cell.repeat,
                attempt=attempt.attempt_index,
                model=spec(cell.model),
            )
            return ModelJudge(selection, place)

        yield judge
