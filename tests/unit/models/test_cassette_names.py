from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_autoweb.models.cassettes import RequestPlaceholders, cassette_path, safe_name


@given(st.text(st.sampled_from("ab :/<>1.localhost127[]%3A\n"), max_size=80), st.integers(1, 65535))
def test_concealing_and_restoring_gives_the_text_back(noise: str, port: int) -> None:
    text = f"{noise} http://127.0.0.1:{port}/x {noise} localhost%3A{port}"
    places = RequestPlaceholders()
    hidden = places.learn(text)

    assert places.restore(places.conceal(text)) == text
    assert places.restore(hidden) == text
    assert f"127.0.0.1:{port}" not in hidden


@pytest.mark.parametrize("name", ["..", "../../etc", "a:b", "", "x" * 400, "con\n", "a/../b", "é"])
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    path = cassette_path(tmp_path, name, name)

    assert path.resolve().is_relative_to(tmp_path.resolve())
    assert len(path.relative_to(tmp_path).parts) == 2


@given(st.text(max_size=120), st.text(max_size=120))
def test_different_names_never_share_a_file(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) == (one == other)
