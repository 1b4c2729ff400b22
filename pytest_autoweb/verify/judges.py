"""Models that are asked again for `judge` checks: the only part of verifying that calls any."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_autoweb.checks.attempt_evidence import RubricJudge
from pytest_autoweb.judge.chairs import Chairs
from pytest_autoweb.judge.labels import read_labels
from pytest_autoweb.judge.model_judge import ModelJudge, Place
from pytest_autoweb.llm.client import Client
from pytest_autoweb.llm.registry import load_project_specs
from pytest_autoweb.llm.shared_gateway import temporary_gateway
from pytest_autoweb.llm.spec import ModelSpec
from pytest_autoweb.report.judge_agreement import agreements
from pytest_autoweb.results import Attempt, CellResult
from pytest_autoweb.verify.run import Judge


@contextmanager
def asked_judges(
    compared: Sequence[str],
    *,
    default: str,
    labels: Path | None,
    rootdir: Path,
    max_cost: float | None,
) -> Iterator[Judge]:
    """Judges of attempts, and a gateway for them that is started by the first question.

    Args:
        compared: models of the run; none of them may judge.
        default: the model of checks that name none.
        labels: human verdicts; a judge that agrees with them decides, others advise.
        rootdir: where `pyproject.toml` has the models' settings.
        max_cost: most US dollars that all questions may cost together.

    Raises:
        CaseError: the labels cannot be read.
    """
    pairs = read_labels(labels).pairs() if labels else {}
    with temporary_gateway(max_cost) as gateway:

        def spec(model: str) -> ModelSpec:
            # A copy has the page's words but not its looks: a picture of it would mislead.
            found = load_project_specs((model,), rootdir, None)[model]
            return found.model_copy(update={"vision": False})

        def client(model: str) -> Client:
            gateway.add(spec(model))
            return gateway

        chairs = Chairs(
            spec,
            client,
            default=default,
            compared=compared,
            calibrated={found.judge for found in agreements(pairs) if found.calibrated},
        )

        def judge(cell: CellResult, attempt: Attempt) -> RubricJudge:
            place = Place(
                case_id=cell.case_id,
                user_task=cell.user_task,
                capture_mode=cell.capture_mode,
                repeat=cell.repeat,
                attempt=attempt.attempt_index,
                model=spec(cell.model),
            )
            return ModelJudge(chairs, place)

        yield judge
