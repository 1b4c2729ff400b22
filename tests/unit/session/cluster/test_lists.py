"""Which cases the session's machine reads itself, to know what nodes may name."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_autoweb.session.cluster.cluster_session import own_cases

CASE = (
    "version: 1\ncases:\n"
    "- {{id: {0}, entry_url: 'http://x.invalid/', user_task: Do., expect: [{{text: a}}], "
    "secrets: {{pin: {{env: {1}}}}}}}\n"
    "- {{id: {0}-2, entry_url: 'http://x.invalid/', user_task: Do., expect: [{{text: a}}], "
    "secrets: {{pin: {{env: {1}_2}}}}}}\n"
)


@pytest.mark.parametrize(
    ("arguments", "variables"),
    [
        (["cases"], {"SHOP", "SHOP_2", "DEEP", "DEEP_2"}),
        (["cases/shop.yaml"], {"SHOP", "SHOP_2"}),
        (["cases/shop.yaml::shop-2[openai/m]"], {"SHOP_2"}),
        (["cases/deep", "cases/shop.yaml::shop"], {"SHOP", "DEEP", "DEEP_2"}),
        (["cases/damaged.yaml"], set()),
    ],
)
def test_variables_are_those_of_the_cases_that_the_command_line_names(
    tmp_path: Path, arguments: list[str], variables: set[str]
) -> None:
    files = {
        "cases/shop.yaml": CASE.format("shop", "SHOP"),
        "cases/deep/more.yaml": CASE.format("deep", "DEEP"),
        "cases/damaged.yaml": "cases: 3",
        "other.yaml": CASE.format("other", "OTHER"),
        "cases/run/run.yaml": CASE.format("run", "RUN"),
        "cases/run/cells/a/b/c-1/cell.json": "{}",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    config: Any = SimpleNamespace(
        args=arguments,
        args_source=pytest.Config.ArgsSource.ARGS,
        invocation_params=SimpleNamespace(dir=tmp_path),
        rootpath=tmp_path,
    )
    settings: Any = SimpleNamespace(
        cassettes=Path("cases/cassettes"), cases="", files=("cases/*.yaml", "cases/**/*.yaml")
    )
    found = {name for case in own_cases(config, settings) for name in case.variables}
    assert found == variables
