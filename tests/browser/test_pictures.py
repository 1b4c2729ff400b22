"""The pictures of a step and of the end."""

from collections.abc import Callable
from pathlib import Path
from shutil import copyfile
from typing import Any

import pytest
from acting import act
from local_site import Site
from PIL import Image
from playwright.sync_api import Browser, Page

from pytest_autoweb.judging.evidence.scene import begin_frame
from pytest_autoweb.results.records import Attempt
from pytest_autoweb.testing import scripted_plan

CLICK = "```python\n# Step 1\npage.get_by_role('button').click()\n```"
# The step ends with a red page; a check that is retried sees the green one.
COLOURS = """<body style="background: white"><button>Go</button>{more}<script>
document.querySelector('button').onclick = () => {{
  document.body.style.background = 'red';
  setTimeout(() => {{ document.body.style.background = 'green' }}, 2500);
}}</script>"""
GREEN = {"js": "document.body.style.background === 'green'"}


def run(browser: Browser, folder: Path, site: Site, page: str, **case: Any) -> Attempt:
    given = {"entry_url": site.put("/a", page), "expect": [GREEN], **case}
    result, _ = act(
        browser,
        folder,
        given,
        (),
        strategy="codegen",
        plan=scripted_plan("press Go"),
        generate=CLICK,
        check_timeout=5.0,
    )
    assert result.outcome == "passed", result.reason
    return result.attempts[0]


def colour(folder: Path, picture: str | None) -> str:
    assert picture is not None
    with Image.open(folder / "run/cells/one" / picture) as image:
        red, green, blue = image.convert("RGB").crop((900, 500, 901, 501)).tobytes()
    if blue > 90:
        return "white"
    return "red" if red > green else "green"


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("", id="nothing to prepare"),
        pytest.param("<input type=password value=x>", id="a field to cover"),
        pytest.param("<iframe srcdoc='<p>Tea'></iframe>", id="a frame"),
    ],
)
def test_the_picture_of_the_last_step_shows_what_it_left_and_not_what_came_of_it(
    browser: Browser, tmp_path: Path, site: Site, more: str
) -> None:
    attempt = run(browser, tmp_path, site, COLOURS.format(more=more))

    assert colour(tmp_path, attempt.step_results[0].screenshot) == "red"
    assert colour(tmp_path, attempt.final_screenshot) == "green"


def test_a_page_that_stays_as_it_is_is_pictured_once(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<button onclick=\"document.body.style.background = 'green'\">Go</button>"
    attempt = run(browser, tmp_path, site, page)

    shown = attempt.step_results[0].screenshot, attempt.final_screenshot
    assert shown == ("attempt-1/step-1.jpg", "attempt-1/step-1.jpg")
    assert colour(tmp_path, attempt.final_screenshot) == "green"


def test_a_page_that_was_scrolled_since_its_last_step_is_pictured_anew(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = """<!doctype html><button>Go</button><style>html { background: red }</style>
    <p style="height: 2000px"><div style="height: 900px; background: green"></div><script>
    document.querySelector('button').onclick = () => setTimeout(() => scrollTo(0, 9000), 2500);
    </script>"""
    attempt = run(browser, tmp_path, site, page, expect=[{"js": "scrollY > 0"}])

    assert colour(tmp_path, attempt.step_results[0].screenshot) == "red"
    assert colour(tmp_path, attempt.final_screenshot) == "green"


READS = "```python\n# Step 1\n{first}\n# Step 2\nlog(page.get_by_role('button').inner_text())\n```"
BELOW = """<!doctype html><button>Go</button><style>html { background: red }</style>
<p style="height: 2000px"><div style="height: 900px; background: green">End</div>"""


@pytest.mark.parametrize(
    ("first", "page", "colours", "used_again"),
    [
        ("log(page.title())", BELOW, ["red", "red", "red"], 2),
        (
            "page.get_by_text('End').scroll_into_view_if_needed()",
            BELOW,
            ["red", "green", "green"],
            1,
        ),
        (
            "page.wait_for_function('scrollTo(0, 9000) || scrollY')",
            BELOW,
            ["red", "green", "green"],
            1,
        ),
        (
            "page.get_by_text('Ready').wait_for()",
            "<button>Go</button><style>html { background: red }</style><script>setTimeout(() => {"
            " document.body.append('Ready'); document.body.style.background = 'green' }, 2500)"
            "</script>",
            ["red", "green", "green"],
            1,
        ),
    ],
    ids=["nothing happens", "scrolls", "code in the page", "changes by itself"],
)
def test_a_step_that_leaves_the_page_as_it_was_needs_no_picture_of_its_own(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    first: str,
    page: str,
    colours: list[str],
    used_again: int,
) -> None:
    copied: list[Path] = []

    def copy(source: Path, target: Path) -> None:
        copied.append(target)
        copyfile(source, target)

    monkeypatch.setattr("pytest_autoweb.agents.attempt.pictures.copyfile", copy)
    attempt = filmed(browser, tmp_path, site, page, READS.format(first=first))

    shown = [frame.picture for frame in attempt.film]
    assert [Path(one).name for one in shown] == ["opened.jpg", "step-1.jpg", "step-2.jpg"]
    assert [colour(tmp_path, one) for one in shown] == colours
    assert [result.screenshot for result in attempt.step_results] == shown[1:]
    assert len(copied) == used_again


def test_a_check_that_fails_on_the_page_of_the_last_step_needs_no_other_picture(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<button onclick=\"document.body.style.background = 'red'\">Go</button>"
    attempt = filmed(browser, tmp_path, site, page, CLICK)

    assert attempt.scene is not None
    assert (attempt.scene.check_index, attempt.scene.step_index) == (0, 1)
    assert attempt.scene.screenshot == attempt.final_screenshot == "attempt-1/step-1.jpg"


def test_the_scene_of_a_failed_step_is_the_picture_of_the_step(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    wrong = CLICK.replace("click()", "fill('x', timeout=500)")
    attempt = filmed(browser, tmp_path, site, "<button>Go</button>", wrong)

    assert attempt.scene is not None
    assert (attempt.scene.check_index, attempt.scene.step_index) == (None, 1)
    assert attempt.scene.screenshot == attempt.step_results[0].screenshot
    assert attempt.scene.screenshot == "attempt-1/step-1.jpg"


def filmed(
    browser: Browser, folder: Path, site: Site, page: str, code: str, **changed: Any
) -> Attempt:
    """The attempt of a cell that presses a button some times."""
    folder.mkdir(exist_ok=True)
    given = {"entry_url": site.put("/a", page), "expect": [GREEN]}
    result, _ = act(
        browser,
        folder,
        given,
        (),
        strategy="codegen",
        plan=scripted_plan(*["press Go"] * code.count("# Step")),
        generate=code,
        **changed,
    )
    return result.attempts[0]


PRESSES = "\n".join(
    ["```python", *(f"# Step {n}\npage.get_by_role('button').click()" for n in range(1, 7)), "```"]
)
COUNTER = """<body><button>Go</button><p>0</p><script>
document.querySelector('button').onclick = () => {
  const p = document.querySelector('p');
  p.textContent = Number(p.textContent) + 1;
  document.body.style.background = p.textContent === '6' ? 'green' : 'red';
}</script>"""


@pytest.mark.long
def test_a_film_shows_the_entry_page_and_what_each_step_left(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    attempt = filmed(browser, tmp_path, site, COUNTER, PRESSES)

    moments = [(frame.moment, frame.step_index) for frame in attempt.film]
    assert moments == [("opened", None), *(("step", n) for n in range(1, 7))]
    times = [frame.at_ms for frame in attempt.film]
    assert times == sorted(times)
    assert 0 < times[-1] <= attempt.duration_ms
    colours = [colour(tmp_path, frame.picture) for frame in attempt.film]
    assert colours == ["white", *["red"] * 5, "green"]


@pytest.mark.long
@pytest.mark.parametrize("limit", ["film", "film_total"])
def test_a_film_beyond_its_bytes_is_thinned_out_evenly(
    browser: Browser, tmp_path: Path, site: Site, limit: str
) -> None:
    whole = filmed(browser, tmp_path / "whole", site, COUNTER, PRESSES)
    folder = tmp_path / "whole/run/cells/one"
    sizes = [(folder / frame.picture).stat().st_size for frame in whole.film]

    # Room for half of the pictures; a few bytes more, as no two of them are equally large.
    most = sum(sizes) // 2 + max(sizes) // 2
    attempt = filmed(browser, tmp_path / "thin", site, COUNTER, PRESSES, **{limit: most})

    steps = [frame.step_index for frame in attempt.film]
    assert len(steps) in (3, 4)
    assert (steps[0], steps[-1]) == (None, 6)
    on_disk = {file.name for file in (tmp_path / "thin/run/cells/one/attempt-1").glob("*.jpg")}
    assert on_disk == {Path(frame.picture).name for frame in attempt.film}
    assert [bool(step.screenshot) for step in attempt.step_results] == [
        step.step_index in steps for step in attempt.step_results
    ]


def test_a_case_without_pictures_leaves_none(browser: Browser, tmp_path: Path, site: Site) -> None:
    given = {"entry_url": site.put("/a", COUNTER), "expect": [GREEN], "pictures": False}
    result, _ = act(
        browser,
        tmp_path,
        given,
        (),
        strategy="codegen",
        plan=scripted_plan("press Go"),
        generate=CLICK,
    )

    (attempt,) = result.attempts
    assert (attempt.film, attempt.final_screenshot) == ((), None)
    assert attempt.scene is not None
    assert (attempt.scene.screenshot, attempt.step_results[0].screenshot) == (None, None)
    assert list((tmp_path / "run").rglob("*.jpg")) == []
    assert result.reason.startswith("check 1 (js)")


def test_without_room_for_a_film_the_picture_of_the_end_stays(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    attempt = filmed(browser, tmp_path, site, COUNTER, CLICK, film=0)

    assert attempt.film == ()
    folder = tmp_path / "run/cells/one/attempt-1"
    assert [file.name for file in folder.glob("*.jpg")] == ["step-1.jpg"]
    assert attempt.final_screenshot == "attempt-1/step-1.jpg"


@pytest.mark.parametrize("secrets", [{}, {"pin": {"default": "tea-time"}}], ids=["", "secrets"])
@pytest.mark.parametrize(
    ("more", "needs"),
    [
        ("", False),
        ("<input type=password>", False),
        ("<input type=password value=x>", True),
        ("<iframe srcdoc='<p>Tea'></iframe>", False),
        ("<iframe srcdoc='<input type=password value=x>'></iframe>", True),
        ("<input value=coffee>", False),
    ],
)
def test_hardly_a_frame_is_drawn_for_a_picture_that_needs_preparation(
    browser: Browser,
    tmp_path: Path,
    site: Site,
    monkeypatch: pytest.MonkeyPatch,
    more: str,
    needs: bool,
    secrets: dict[str, Any],
) -> None:
    drawn: list[Page] = []

    def counted(page: Page, redact: Callable[[str], str] | None) -> Callable[[], bytes | None]:
        drawn.append(page)
        return begin_frame(page, redact)

    monkeypatch.setattr("pytest_autoweb.agents.attempt.pictures.begin_frame", counted)
    page = f"<button onclick=\"document.body.style.background = 'green'\">Go</button>{more}"
    attempt = run(browser, tmp_path, site, page, secrets=secrets)

    # What the page held when it was opened, and before the click, said so. Without secrets, the
    # first frame is drawn before that is known. On a busy machine it is drawn again.
    assert len(drawn) in ((2, 3) if not needs else (0,) if secrets else (1,))
    assert colour(tmp_path, attempt.step_results[0].screenshot) == "green"


def test_a_picture_that_cannot_be_taken_is_not_named(
    browser: Browser, tmp_path: Path, site: Site
) -> None:
    page = "<button onclick=\"document.body.style.background = 'green'\">Go</button>"
    given = {"entry_url": site.put("/a", page), "expect": [GREEN]}

    class Opened(list[Page]):
        def append(self, page: Page) -> None:
            (tmp_path / "run/cells/one/attempt-1/step-1.jpg").mkdir(parents=True)

    result, _ = act(
        browser,
        tmp_path,
        given,
        (),
        strategy="codegen",
        pages=Opened(),
        plan=scripted_plan("press Go"),
        generate=CLICK,
    )

    attempt = result.attempts[0]
    assert result.outcome == "passed"
    assert attempt.step_results[0].screenshot is None
    assert attempt.final_screenshot == "attempt-1/final.jpg"
