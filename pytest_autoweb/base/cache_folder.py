"""Where this package keeps on this machine what outlives a run."""

from pathlib import Path

from platformdirs import user_cache_path


def cache_folder(name: str) -> Path:
    """Return one of this package's folders in the user's cache, which need not exist."""
    return user_cache_path("pytest-autoweb", appauthor=False) / name
