"""The film of one search for an element by sight: its pictures, answers and result on one page."""

import base64
from collections.abc import Mapping

from pytest_autoweb.report.html_page import self_contained
from pytest_autoweb.results.records import Location
from pytest_autoweb.results.runs.saving import plain

_STYLES = ("base.css", "page.css", "panels.css", "detail.css", "decisions.css", "locations.css")
_SCRIPTS = ("dom.js", "locations.js", "film.js")


def render_film(location: Location, pictures: Mapping[str, bytes]) -> str:
    """Return a self-contained page with the pictures, answers and result of a search.

    Args:
        location: the search.
        pictures: the PNG pictures, by the names in the probes.
    """
    data = {
        "location": plain(location),
        "pictures": {
            name: "data:image/png;base64," + base64.b64encode(picture).decode()
            for name, picture in pictures.items()
        },
    }
    return self_contained("film.html.j2", "autoweb debug locate", _STYLES, _SCRIPTS, data)
