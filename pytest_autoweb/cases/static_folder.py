"""The folder of static files that a case file names as its web server's."""

from importlib.util import find_spec
from pathlib import Path

from pytest_autoweb.base.errors import WebServerError


def static_folder(static: str, base: Path) -> Path:
    """Return the folder that `static` names, next to the case file or inside a package.

    Raises:
        WebServerError: there is no such folder.
    """
    if (folder := base / static).is_dir():
        return folder
    package, _, rest = static.partition("/")
    spec = find_spec(package) if package.isidentifier() else None
    for place in (spec.submodule_search_locations or ()) if spec else ():
        if (inside := Path(place) / rest).is_dir():
            return inside
    found = "has no such folder" if spec else "is not installed"
    raise WebServerError(
        f"static {static!r}: {folder} is no folder, and the package {package!r} {found}"
    )
