"""The places of bundled prompts, skills and templates, in a wheel and in a checkout."""

from pathlib import Path

from pytest_autoweb.errors import AssetError

_PACKAGE = Path(__file__).parent


def asset_dir(folder: str) -> Path:
    """Return a folder of assets: in a wheel the package's, else the checkout's.

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
