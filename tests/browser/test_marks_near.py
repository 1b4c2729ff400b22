"""What stands near elements that read alike, as a person would say which one is meant."""

from collections.abc import Callable

from playwright.sync_api import Page

from pytest_autoweb.agents.choice.disambiguate import ambiguous, resolve_apart
from pytest_autoweb.agents.choice.verify_choice import Choice
from pytest_autoweb.browser.marks.marking import mark_page

Show = Callable[[str], Page]


def told_apart(page: Page) -> list[str]:
    return list(ambiguous(mark_page(page).marks).values())


def test_rows_cards_headings_and_labels_tell_alike_elements_apart(show: Show) -> None:
    page = show(
        """<style>table, div, h3, p { margin: 1px; font-size: 12px }</style>
        <table><tr><td>Ann<td>ann@a.example<td><button>Edit</button>
          <tr><td>Bo<td>bo@a.example<td><button>Edit</button></table>
        <div><h3>Coffee</h3><div>new</div><button>Buy</button></div>
        <div><h3>Tea</h3><div>new</div><button>Buy</button></div>
        <h3>North</h3><p>open</p><button>Visit</button>
        <h3>South</h3><p>open</p><button>Visit</button>
        <p><input type=checkbox> Sugar<br><input type=checkbox> Milk</p>
        <p>Peter <b>Smith</b> <button>Call</button> <button>Call</button></p>
        <p><button>Own</button> <a href=/x>All</a> <a href=/x>All</a></p>"""
    )

    assert told_apart(page) == [
        *("Ann", "Bo"),
        *("Coffee", "Tea"),
        *("North", "South"),
        *("Sugar", "Milk"),
        *("1 of 2", "2 of 2"),
    ]


def near(page: Page) -> list[tuple[str, ...]]:
    return [mark.near for mark in mark_page(page).marks]


def test_what_is_near_crosses_the_borders_of_frames(show: Show) -> None:
    frame = "<iframe style='height: 40px; border: 0' srcdoc='<button>Visit</button>'></iframe>"
    page = show(f"<h3>North</h3>{frame}<h3>South</h3><p>open</p><button>Visit</button>")
    page.frame_locator("iframe").get_by_role("button").wait_for()

    north, south = near(page)

    assert "North" in north
    assert "South" not in north
    assert "South" in south
    assert "North" not in south
    marks = mark_page(page).marks
    assert told_apart(page) == ["North", "open"]
    assert resolve_apart(Choice(1, "Visit", "North"), marks).mark == marks[0]
    assert resolve_apart(Choice(2, "Visit", "South"), marks).mark == marks[1]


def test_two_frames_that_read_alike_are_told_apart_by_what_is_above_each(show: Show) -> None:
    frame = (
        "<iframe style='height: 90px; border: 0' srcdoc='<p>a</p><button>Buy</button>'></iframe>"
    )
    page = show(f"<div><b>Tea</b>{frame}</div><div><b>Milk</b>{frame}</div>")
    for number in (0, 1):
        page.frame_locator("iframe").nth(number).get_by_role("button").wait_for()

    assert told_apart(page) == ["Tea", "Milk"]


def test_alike_headings_in_alike_frames_are_told_apart_by_those_above_the_frames(
    show: Show,
) -> None:
    inner = "".join(f"<h4>{name}</h4><button>Buy</button>" for name in ("West", "East"))
    frame = f"<iframe style='height: 200px; border: 0' srcdoc='{inner}'></iframe>"
    page = show(f"<h3>Tea</h3>{frame}<h3>Milk</h3>{frame}")
    for number in (0, 1):
        page.frame_locator("iframe").nth(number).get_by_role("button").first.wait_for()

    assert told_apart(page) == ["Tea, West", "Tea, East", "Milk, West", "Milk, East"]


def test_icons_are_near_all_texts_of_their_row(show: Show) -> None:
    icons = "<button class=i></button><button class=i></button>"
    cells = "".join(f"<td>c{number}" for number in range(9))
    page = show(
        f"""<style>.i {{ width: 20px; height: 20px }} td, p {{ font-size: 11px }}</style>
        <table><tr><td>Ann{cells}<td>{icons}</tr><tr><td>Bo{cells}<td>{icons}</tr></table>
        <div><span>Tea</span><span>hot</span><div>{icons}</div></div>
        <div><span>Milk</span><span>cold</span><div>{icons}</div></div>"""
    )
    marks = mark_page(page).marks

    rows = [set(mark.near) & {"Ann", "Bo", "Teahot", "Milkcold"} for mark in marks]

    assert rows == [{"Ann"}] * 2 + [{"Bo"}] * 2 + [{"Teahot"}] * 2 + [{"Milkcold"}] * 2
    # The row alone does not say which of its icons is meant; a second look shows just these.
    assert resolve_apart(Choice(4, "bin icon", "Bo"), marks).candidates == (3, 4)
    again = mark_page(page, only=marks[2:4]).marks
    assert resolve_apart(Choice(2, "bin icon", "2 of 2"), again, again=True).mark == again[1]
    assert resolve_apart(Choice(2, "bin icon", "Bo"), again, again=True).mark is None
    assert resolve_apart(Choice(4, "bin icon", "Ann"), marks).candidates == (1, 2, 4)


def test_two_of_a_row_are_near_its_text_but_not_near_each_others(show: Show) -> None:
    rows = "".join(
        f"<tr><td>{name}<td><i>home</i> <button>Edit</button><td><i>work</i> <button>Edit</button>"
        for name in ("Ann", "Bo")
    )
    page = show(f"<table>{rows}</table>")
    marks = mark_page(page).marks

    assert near(page) == [("home", "Ann"), ("work", "Ann"), ("home", "Bo"), ("work", "Bo")]
    assert resolve_apart(Choice(4, "Edit", "Bo"), marks).mark == marks[3]
    assert resolve_apart(Choice(4, "Edit", "Ann"), marks).candidates == (1, 2, 4)
    assert resolve_apart(Choice(3, "Edit", "Bo home"), marks).mark == marks[2]


def test_a_wide_row_is_near_with_its_first_cell(show: Show) -> None:
    cells = "".join(f"<td>c{number}" for number in range(10))
    rows = "".join(f"<tr><td>{name}{cells}<td><button>Edit</button>" for name in ("Ann", "Bo"))
    page = show(f"<table>{rows}</table>")

    assert told_apart(page) == ["Ann", "Bo"]


def test_a_field_that_has_no_name_is_known_by_the_text_beside_it(show: Show) -> None:
    page = show(
        """<div>Log in as ana.</div><form><p><label>Username</label><input></p>
        <p><label>Password</label><input type=password></p><button>Login</button></form>"""
    )
    marks = mark_page(page).marks
    user, password = (mark.number for mark in marks if mark.is_nameless_field)

    def taken(number: int, text: str) -> int | None:
        found = resolve_apart(Choice(number, text), marks).mark
        return found.number if found else None

    assert [taken(user, "Username"), taken(password, "Username")] == [user, user]
    assert [taken(user, "Password"), taken(user, "2 of 2")] == [password, password]
    assert [taken(user, "Surname"), taken(user, "Log in as Bo")] == [None, None]


def test_what_is_near_is_bounded_visible_and_without_secrets(show: Show) -> None:
    secret = "s3cret-" + "x" * 60
    rows = "".join(
        f"<tr><td style='display: none'>hidden{n}<td>row {n} {secret}{'y' * 9000}"
        f"<td><script>'{n}'</script><button>Edit</button>"
        for n in (1, 2)
    )
    page = show(f"<table style='table-layout: fixed; width: 300px'>{rows}</table>")

    marked = mark_page(page, hide=lambda text: text.replace(secret, "•"))

    pieces = [piece for mark in marked.marks for piece in mark.near]
    assert [piece[:8] for piece in pieces] == ["row 1 •y", "row 2 •y"]
    assert all(len(piece) <= 80 for piece in pieces)
