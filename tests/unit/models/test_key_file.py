"""Keys in the project's `.env`."""

from pathlib import Path

import pytest

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.models.key_file import read_key_file, with_key_file


def test_a_variable_of_the_environment_comes_first(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    file.write_text(
        "\ufeff# keys\nexport OPENAI_API_KEY='one two' # mine\nGROQ_API_KEY=filed\nEMPTY=\n"
        "not a variable at all\nLAST=$HOME\n",
        encoding="utf-8",
    )
    environ = {"GROQ_API_KEY": "set", "OPENAI_API_KEY": ""}

    assert with_key_file(environ, file) == {
        "OPENAI_API_KEY": "one two",
        "GROQ_API_KEY": "set",
        "LAST": "$HOME",
    }


def test_no_file_is_no_keys_and_an_unreadable_one_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / ".env"
    assert read_key_file(file) == {}

    file.write_bytes(b"KEY=\xff\xfe")
    with pytest.raises(SettingsError, match=r"\.env cannot be read"):
        read_key_file(file)
