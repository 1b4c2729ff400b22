"""Writes the case files of an import from text that others wrote."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pytest_autoweb.base.errors import CaseError, SettingsError
from pytest_autoweb.cases.loader import load_case_file
from pytest_autoweb.tools.record.oracle import in_template

TEXT_CHARS = 20_000
"""Limit on the characters of one imported text."""
FILE_CHARS = 150_000
"""Length at which the next file is begun; a case file may have 256 KB."""

_ID_CHARS = 80
_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]")


def tidy(text: str) -> str:
    """Return a text without control characters and needless spaces, bounded."""
    kept = "".join(
        " " if char.isspace() or unicodedata.category(char) in ("Cc", "Cs") else char
        for char in text[: 2 * TEXT_CHARS]
    )
    return re.sub(" {2,}", " ", kept).strip()[:TEXT_CHARS]


def read_json(path: Path, most_bytes: int) -> Any:
    """Return the content of a JSON file.

    Raises:
        SettingsError: it is too large, or cannot be read as JSON.
    """
    try:
        if path.stat().st_size > most_bytes:
            raise SettingsError(f"{path} is larger than {most_bytes // 1_000_000} MB")
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path} cannot be read as JSON: {error}") from None


def scalar(value: Any) -> str:
    """Return a value as a case file writes it: quoted, in ASCII, and never an expression."""
    return in_template(_BEYOND_ASCII.sub(_escaped, json.dumps(value, ensure_ascii=False)))


def quoted(text: str) -> str:
    """Return a text as it stands between the quotes of a case file."""
    return scalar(tidy(text))[1:-1]


def _escaped(found: re.Match[str]) -> str:
    # JSON writes an emoji as two surrogates, and YAML reads each as a character of its own.
    code = ord(found.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def usable_id(name: str) -> str:
    """Return a valid case id for a name; names that would become equal stay distinct."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-")[:_ID_CHARS]
    if plain == name:
        return plain
    digest = hashlib.sha256(name.encode("utf-8", "backslashreplace")).hexdigest()[:6]
    return f"{plain}-{digest}" if plain else digest


def parts_within(cases: Iterable[str], *, most: int | None = None) -> list[str]:
    """Return the texts of cases, joined into as many parts as the length limit requires.

    Args:
        cases: the text of each case.
        most: the maximum number of cases in one part.
    """
    parts: list[list[str]] = [[]]
    room = FILE_CHARS
    for text in cases:
        if parts[-1] and (len(text) > room or len(parts[-1]) == most):
            parts.append([])
            room = FILE_CHARS
        parts[-1].append(text)
        room -= len(text)
    return ["".join(part) for part in parts]


def named_parts(stem: str, texts: Sequence[str]) -> dict[str, str]:
    """Return files by name: `stem.yaml` if there is one, else `stem-1.yaml` and so on."""
    if len(texts) == 1:
        return {f"{stem}.yaml": texts[0]}
    return {f"{stem}-{number}.yaml": text for number, text in enumerate(texts, start=1)}


def write_case_files(folder: Path, files: Mapping[str, str], *, overwrite: bool = False) -> int:
    """Parse case files as pytest would, then write them; return the number of cases.

    Args:
        folder: the target, created if it does not exist.
        files: the text of each file, by name.
        overwrite: whether to replace files of these names.

    Raises:
        SettingsError: a file already exists, or the folder is not writable.
        CaseError: a text is not a valid case file.
    """
    taken = [name for name in files if (folder / name).exists()]
    if taken and not overwrite:
        raise SettingsError(
            f"{folder / taken[0]} is there already; name another place with -o, or replace it "
            "with --overwrite"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Next to the target, because a case file names other files relative to itself.
        with TemporaryDirectory(dir=folder, prefix=".import-") as draft:
            count = 0
            for name, text in files.items():
                path = Path(draft) / name
                path.write_text(text, encoding="utf-8")
                count += len(_loaded(path))
            for name in files:
                (Path(draft) / name).replace(folder / name)
    except OSError as error:
        raise SettingsError(f"{folder} cannot be written: {error}") from None
    return count


def _loaded(path: Path) -> tuple[Any, ...]:
    try:
        return load_case_file(path)
    except CaseError as error:
        raise CaseError(f"what was imported makes no case file: {error}") from None
