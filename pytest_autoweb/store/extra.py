"""Whether the packages are there that only some users install."""

from importlib.util import find_spec

from pytest_autoweb.errors import SettingsError


def need(extra: str, *packages: str) -> None:
    """Go on only if an extra of this package is installed.

    Raises:
        SettingsError: it is not; says how to install it.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise SettingsError(
            f"this needs {' and '.join(missing)}: pip install 'pytest-autoweb[{extra}]'"
        )
