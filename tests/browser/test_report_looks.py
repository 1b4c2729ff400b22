"""What a step saw, in the report's page: pictures for the model, and what was found by sight."""

from pathlib import Path

from made_up_decisions import sight_cell
from made_up_picture import PICTURE
from made_up_run import save_run
from playwright.sync_api import Page, expect

from pytest_autoweb.report.write import write_report
from pytest_autoweb.results.records import Location, Look, StepResult

HOSTILE = "<img src=x onerror=\"document.title='owned'\">\u202egpj"


def test_a_step_shows_what_the_model_asked_to_see_and_what_was_found_by_sight(
    kept_page: Page, tmp_path: Path
) -> None:
    steps = tuple(
        StepResult(step_index=index, description=f"Turn {index}", ok=True, status="ok")
        for index in (1, 2)
    )
    looks = (
        Look(step_index=1, picture="attempt-1/look-1.png", box=(0, 0, 1280, 720)),
        Look(step_index=1, picture="attempt-1/look-2.png", box=(40, 60, 300, 200)),
        Look(step_index=2, picture="../../../secret.png", box=(0, 0, 1280, 720)),
    )
    found = Location(
        step_index=2,
        description=HOSTILE,
        algorithm="bayes",
        status="found",
        element=HOSTILE,
        confidence=0.97,
    )
    result = sight_cell("fake/seeing")
    attempt = result.attempts[0].model_copy(
        update={"step_results": steps, "looks": looks, "locations": (found,), "decisions": ()}
    )
    cell = sight_cell("fake/seeing", attempts=(attempt,))
    save_run(tmp_path, [cell])
    for look in looks[:2]:
        file = tmp_path / cell.folder / str(look.picture)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(PICTURE)
    write_report(tmp_path, max_chars=8_000_000)
    errors: list[str] = []
    kept_page.on("pageerror", lambda error: errors.append(str(error)))

    key = cell.folder.removeprefix("cells/")
    kept_page.goto(f"{(tmp_path / 'index.html').as_uri()}#{key}")

    first, second = (kept_page.locator(".steps li").nth(place) for place in (0, 1))
    expect(first.locator("figcaption")).to_have_text(
        [
            "Picture 1 for the model: 1280 × 720 pixels",
            "Picture 2 for the model: 300 × 200 pixels at 40, 60",
        ]
    )
    expect(second).to_contain_text("By sight: “<img src=x")
    expect(second).to_contain_text("97% sure")
    expect(second.locator("img")).to_have_count(0)
    first.get_by_role("button", name="Enlarge: Picture 2").click()
    expect(kept_page.locator("#zoom img")).to_be_visible()
    assert "owned" not in kept_page.title()
    assert errors == []
