"""Pictures of a page do not show what the case keeps secret."""

from pathlib import Path

import pytest
from playwright.sync_api import Page

from pytest_autoweb.base.redaction import Redactor
from pytest_autoweb.browser.page.covered_fields import shows_bare
from pytest_autoweb.browser.page.own_world import register_own_world
from pytest_autoweb.browser.page.page_digest import page_look
from pytest_autoweb.judging.evidence.scene import shot

SECRET = "hunter2-hunter2"
FIELDS = {
    "a text field": "<input id=f style='font-size:40px'>",
    "an area": "<textarea id=f></textarea>",
    "a field in a shadow tree": "<div id=h></div><script>const r = h.attachShadow({mode: 'open'});"
    "r.innerHTML = '<input id=f style=\"font-size:40px\">'</script>",
    "a field of a frame": '<iframe srcdoc="<input id=f>"></iframe>',
    "editable text": "<p id=f contenteditable>.</p>",
}


@pytest.mark.parametrize("kind", FIELDS)
def test_a_field_that_holds_a_secret_is_covered_whatever_its_type(
    blank: Page, tmp_path: Path, kind: str
) -> None:
    redact = Redactor({"pw": SECRET})
    blank.set_content("<input value=shown>" + FIELDS[kind])
    frame = blank.frames[-1]
    pictures = []
    for number, value in enumerate((SECRET, SECRET[::-1], f"{SECRET}!")):
        frame.locator("#f").fill(value)
        blank.evaluate("document.activeElement.blur()")
        frame.evaluate("document.activeElement.blur()")
        assert shot(blank, tmp_path / f"{number}.png", redact)
        pictures.append((tmp_path / f"{number}.png").read_bytes())

    secret, other, longer = pictures
    assert secret != other
    if kind != "editable text":  # the cover of a paragraph is as wide as the page
        assert secret == longer


def test_without_secrets_only_password_fields_are_covered(blank: Page, tmp_path: Path) -> None:
    blank.set_content("<input id=f>")
    pictures = []
    for value in ("one", "two"):
        blank.fill("#f", value)
        assert shot(blank, tmp_path / "a.png")
        pictures.append((tmp_path / "a.png").read_bytes())

    assert pictures[0] != pictures[1]


HOLDING = "<input type={kind} value='{value}' style='width: 100vw; height: 100vh; font: 300px x'>"


FRAMED = '<iframe srcdoc="{}" width=1200 height=700></iframe>'


@pytest.mark.parametrize("where", ["{}", FRAMED])
@pytest.mark.parametrize("late", [False, True], ids=["before the look", "after it"])
@pytest.mark.parametrize(
    ("kind", "redact"),
    [
        ("password", None),
        ("password", Redactor({"pw": SECRET})),
        ("text", Redactor({"pw": SECRET})),
    ],
    ids=["a password", "a password of a case with secrets", "a secret"],
)
def test_no_frame_is_kept_that_shows_what_is_to_be_covered(
    blank: Page, tmp_path: Path, where: str, late: bool, kind: str, redact: Redactor | None
) -> None:
    register_own_world(blank)
    pictures = []
    for number, value in enumerate((SECRET, f"{SECRET}!", "")):
        given = "" if late else value
        blank.set_content(where.format(HOLDING.format(kind=kind, value=given)))
        bare = shows_bare(blank, redact)
        if late:
            blank.frames[-1].fill("input", value)
        assert bare is (late or not value)
        assert shot(blank, tmp_path / f"{number}.jpg", redact, bare=bare)
        pictures.append((tmp_path / f"{number}.jpg").read_bytes())

    secret, longer, empty = pictures
    assert secret == longer != empty


@pytest.mark.parametrize("kind", FIELDS)
def test_a_case_with_secrets_needs_no_preparation_where_no_field_holds_one(
    blank: Page, kind: str
) -> None:
    redact = Redactor({"pw": SECRET})
    register_own_world(blank)
    blank.set_content(FIELDS[kind])
    field = blank.frames[-1].locator("#f")
    told = []
    for value in ("tea", SECRET, f"my {SECRET}!", ""):
        field.fill(value)
        told.append(shows_bare(blank, redact))

    # Of a shadow tree, nothing is believed.
    others = kind != "a field in a shadow tree"
    assert told == [others, False, False, others]


def test_a_document_that_tells_nothing_is_not_believed_to_show_nothing(blank: Page) -> None:
    register_own_world(blank)
    blank.set_content("<p>Tea")
    blank.evaluate("document.documentElement.remove()")

    assert not shows_bare(blank, Redactor({"pw": SECRET}))


FORGED = """<script>
  for (const name of ['some', 'map', 'filter']) Array.prototype[name] = () => [];
  Object.defineProperty(HTMLInputElement.prototype, 'value', {get: () => 'nothing'});
</script>"""


@pytest.mark.parametrize("kind", ["text", "password"])
@pytest.mark.parametrize("where", ["{}", FRAMED])
def test_a_page_has_no_hand_in_pictures_of_a_case_with_secrets(
    blank: Page, tmp_path: Path, kind: str, where: str
) -> None:
    register_own_world(blank)
    redact, pictures = Redactor({"pw": SECRET}), []
    for number, value in enumerate((SECRET, f"{SECRET}!")):
        forged = FORGED.replace('"', "'") + HOLDING.format(kind=kind, value=value)
        blank.set_content(where.format(forged))
        look = page_look(blank, redact)
        assert look is None or not look.bare
        assert shot(blank, tmp_path / f"{number}.jpg", redact, bare=True)
        pictures.append((tmp_path / f"{number}.jpg").read_bytes())

    assert pictures[0] == pictures[1]
