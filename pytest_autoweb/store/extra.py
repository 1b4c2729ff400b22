"""The check for optional packages, which come with an extra of this package."""

from importlib.util import find_spec

from pytest_autoweb.errors import SettingsError


def require_packages(extra: str, *packages: str) -> None:
    """Check that the packages of an extra are installed.

    Raises:
        SettingsError: one of them is missing; the message says how to install it.
    """
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        raise SettingsError(
            f"this needs {' and '.join(missing)}: pip install 'pytest-autoweb[{extra}]'"
        )
