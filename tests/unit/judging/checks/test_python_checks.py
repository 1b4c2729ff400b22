"""Where the function of a `python:` check is looked for, and what is said of one that is wrong.

What the functions decide is in `test_judge_page_checks.py`.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_autoweb.base.field_errors import FieldError
from pytest_autoweb.judging.checks.check_type import Evidence
from pytest_autoweb.judging.checks.delegated_checks import (
    FunctionProblem,
    PythonCheck,
    find_function,
)
from pytest_autoweb.judging.verdicts import judge_checks

CODE = "def told(context, *, of=0):\n    return {where!r}\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with a case two folders below its root; what is imported from it is forgotten."""
    root = tmp_path / "project"
    (root / "cases" / "shop").mkdir(parents=True)
    (root / "pytest.ini").touch()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    known, path = set(sys.modules), list(sys.path)
    yield root
    sys.path[:] = path
    for name in set(sys.modules) - known:
        if name.startswith("own_"):
            del sys.modules[name]


def write(folder: Path, module: str, code: str | None = None) -> None:
    file = folder.joinpath(*module.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CODE.format(where=str(file.parent)) if code is None else code)


def found(project: Path, reference: str, **arguments: Any) -> Callable[..., Any]:
    return find_function(reference, arguments, project / "cases" / "shop" / "pay.yaml")


def problem(project: Path, reference: str, **arguments: Any) -> str:
    with pytest.raises(FunctionProblem) as raised:
        found(project, reference, **arguments)
    return str(raised.value)


def test_a_module_is_looked_for_from_the_case_up_to_the_root_and_then_here(project: Path) -> None:
    beside, above, root = project / "cases" / "shop", project / "cases", project
    here, outside = Path.cwd(), project.parent
    for module, folders in {
        "own_a": (beside, above, root, here),
        "own_b": (above, root, here),
        "own_c": (root, here),
        "own_d": (here, outside),
    }.items():
        for folder in folders:
            write(folder, module)
        assert found(project, f"{module}:told")(None) == str(folders[0])
    write(outside, "own_e")
    assert problem(project, "own_e:told") == "there is no module 'own_e'"


def test_without_a_root_a_module_is_beside_the_case_and_an_inline_case_looks_here(
    project: Path,
) -> None:
    (project / "pytest.ini").unlink()
    for folder in (project / "cases", Path.cwd()):
        write(folder, "own_f")
    write(project / "cases", "own_g")

    assert found(project, "own_f:told")(None) == str(Path.cwd())
    assert "no module" in problem(project, "own_g:told")
    assert find_function("own_f:told", {}, None)(None) == str(Path.cwd())


def test_modules_in_packages_and_beside_each_other_are_found(project: Path) -> None:
    (project / "own_pack" / "inner").mkdir(parents=True)
    write(project, "own_pack", "")
    write(project, "own_pack.inner")
    write(project, "own_pack.single")
    write(project, "own_late", "name = 'late'\n")
    code = "def told(context):\n    import own_late\n    return own_late.name\n"
    write(project, "own_asks", code)

    assert found(project, "own_pack.inner:told")(None).endswith("inner")
    assert found(project, "own_pack.single:told")(None).endswith("own_pack")
    before = sys.path[0]
    assert found(project, "own_asks:told")(None) == "late"
    assert (sys.path[0], sys.path.count(str(project))) == (before, 1)
    assert find_function("json:dumps", {}, None) is sys.modules["json"].dumps


def test_two_modules_of_one_name_are_told_apart(project: Path) -> None:
    write(project, "own_twin")
    found(project, "own_twin:told")
    write(project / "cases" / "shop", "own_twin")

    assert problem(project, "own_twin:told").startswith("another module 'own_twin' is imp")


@pytest.mark.parametrize(
    ("code", "function", "arguments", "reason"),
    [
        ("", "told", {}, "module 'own_x' has no function 'told'"),
        ("told = 3", "told", {}, "module 'own_x' has no function 'told'"),
        ("async def told(context): ...", "told", {}, "'told' must not be async"),
        ("def told(): ...", "told", {}, "cannot be called as told(context): "),
        ("def told(context): ...", "told", {"of": 1}, "cannot be called as told(context, of=…): "),
        ("import own_gone", "told", {}, "module 'own_x' cannot be imported: No module"),
        ("1 / 0", "told", {}, "module 'own_x' cannot be imported: ZeroDivisionError: "),
    ],
)
def test_a_function_that_cannot_be_used_is_refused_before_a_run(
    project: Path, code: str, function: str, arguments: dict[str, Any], reason: str
) -> None:
    write(project, "own_x", code)
    case_path = project / "cases" / "shop" / "pay.yaml"
    check = PythonCheck.model_validate({"python": f"own_x:{function}", "with": arguments})

    with pytest.raises(FieldError) as refused:
        check.refuse_unusable(case_path)

    assert refused.value.at == ("python",)
    assert refused.value.reason.startswith(reason)


def test_a_check_that_can_be_used_tells_the_code_behind_it(project: Path) -> None:
    write(project, "own_y")
    case_path = project / "cases" / "shop" / "pay.yaml"
    entry = {"python": "own_y:told", "with": {"of": 1}}

    code = {"code": CODE.format(where=str(project))}
    assert PythonCheck.code_behind(entry, case_path) == code
    PythonCheck.model_validate(entry).refuse_unusable(case_path)
    assert PythonCheck.code_behind({"python": "own_y:told"}, case_path) == code
    assert PythonCheck.code_behind({"python": "math:sqrt"}, case_path) == {}
    with pytest.raises(FunctionProblem):
        PythonCheck.code_behind({**entry, "with": {"off": 1}}, case_path)


def test_a_check_is_judged_by_the_function_beside_its_case(project: Path) -> None:
    write(project / "cases", "own_z", "def told(context):\n    return context.answered\n")
    check = PythonCheck.model_validate({"python": "own_z:told"})
    evidence = Evidence(
        page=cast(Any, None),
        answered=True,
        answer=None,
        case_path=project / "cases" / "shop" / "pay.yaml",
    )

    (result,) = judge_checks([check], evidence, timeout_s=0)

    assert (result.passed, result.message) == (True, "")
