"""The installed parts of this package: its bundled files, and the packages of each extra.

Prompts, skills and templates have one place in a wheel and another in a checkout. If packages of an
extra are missing, a sentence names those to install.
"""

from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from pytest_autoweb.base.errors import AssetError, SettingsError

_PACKAGE = Path(__file__).parents[1]

_STORE = ("sqlalchemy", "alembic")
# Names for `import`, which may differ from the names of packages.
_MODULES: Mapping[str, tuple[str, ...]] = {
    "local": ("xllamacpp",),
    "testing": ("PIL",),
    "store": _STORE,
    "postgres": (*_STORE, "psycopg"),
    "redis": ("redis",),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
    "traffic": ("cryptography",),
    "mail": ("aiosmtpd",),
    "watch": ("watchfiles",),
    "completion": ("shtab",),
    # The package has this since version 2, which the server needs.
    "mcp": ("mcp.server.mcpserver",),
    "cluster": ("ray",),
    "dashboard": (*_STORE, "fastapi", "uvicorn"),
}
_PACKAGES = {
    "PIL": "pillow",
    "mcp.server.mcpserver": "mcp",
    "opentelemetry.sdk": "opentelemetry-sdk",
    "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
}
"""Packages whose name differs from that of their module."""


def asset_dir(folder: str) -> Path:
    """Return a folder of assets: the package's in a wheel, else the checkout's.

    Args:
        folder: `prompts`, `skills` or `templates`.

    Raises:
        AssetError: neither place has the folder.
    """
    if (packaged := _PACKAGE / folder).is_dir():
        return packaged
    checkout = _PACKAGE.parent / folder
    if (_PACKAGE.parent / "pyproject.toml").is_file() and checkout.is_dir():
        return checkout
    raise AssetError(folder, looked_in=_PACKAGE)


def missing_extras(extras: Iterable[str]) -> str | None:
    """Return what some extras lack and how to install all of it, or None if nothing is missing."""
    absent: dict[str, list[str]] = {}
    for extra in extras:
        modules = [name for name in _MODULES[extra] if not _installed(name)]
        # An extra that another one contains need not be named.
        if not any(set(modules) <= set(others) for others in (*absent.values(), [])):
            absent[extra] = modules
    if not absent:
        return None
    needed = dict.fromkeys(name for modules in absent.values() for name in modules)
    names = [_PACKAGES.get(name, name) for name in needed]
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    verb = "are" if first else "is"
    return f"{listed} {verb} not installed: pip install 'pytest-autoweb[{','.join(absent)}]'"


def _installed(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:
        # Not even the package around it is there.
        return False


def require_extras(*extras: str) -> None:
    """Check that all packages of some extras are installed.

    Raises:
        SettingsError: one of them is missing; the message explains how to install everything.
    """
    if problem := missing_extras(extras):
        raise SettingsError(problem)


def extra_of_store(url: str) -> str:
    """Return the extra that a store at this URL needs: SQLite comes with Python, Postgres not."""
    return "postgres" if url.startswith("postgres") else "store"
