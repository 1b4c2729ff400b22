"""What stands near elements that read alike, as a person would say which one is meant."""

from collections.abc import Callable

from playwright.sync_api import Page

from pytest_autoweb.choice.disambiguate import ambiguous, resolve_apart
from pytest_autoweb.choice.verify_choice import Choice
from pytest_autoweb.marks.marking import mark_page

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
