"""The file `.env` of a project, whose keys reach models and nothing else.

The gateway's process reads it into its own environment. The test processes know its values only to
remove them from what they write.
"""

import io
from collections.abc import Mapping
from pathlib import Path

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.base.redaction import tidy_key

KEY_FILE = ".env"


def read_key_file(path: Path) -> dict[str, str]:
    """Return the variables of the file, or none if there is no such file.

    Lines that are not NAME=VALUE are passed over, since other programs read the file as well.

    Raises:
        SettingsError: the file cannot be read.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read: {error}") from None
    # Late, because few projects have such a file.
    from dotenv.parser import parse_stream

    found = ((line.key, tidy_key(line.value or "")) for line in parse_stream(io.StringIO(text)))
    return {name: value for name, value in found if name and value}


def with_key_file(environ: Mapping[str, str], path: Path) -> dict[str, str]:
    """Return the environment and what the file adds; a variable that is set comes first."""
    return read_key_file(path) | {name: value for name, value in environ.items() if value}
