"""The wheel holds everything the checkout has, and works where there is no checkout."""

import email
import json
import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent


def run(*command: str | Path, cwd: Path) -> str:
    """What the command prints; its error output is in the failure."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, env=clean_environment())
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def clean_environment() -> dict[str, str]:
    """Without what pytest or a shell put there to find the checkout."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation")
    run(*build, "--outdir", folder, cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def stranger(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts folder of an environment that has the wheel, and nothing of the checkout."""
    home = tmp_path_factory.mktemp("stranger")
    venv.create(home, symlinks=os.name != "nt")
    scripts = home / ("Scripts" if os.name == "nt" else "bin")
    pip = (sys.executable, "-m", "pip", "--python", scripts / "python", "install", "--quiet")
    run(*pip, "--no-deps", "--no-index", "--no-warn-script-location", wheel, cwd=home)
    ask = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(scripts / "python", "-c", ask, cwd=home).strip())
    # A plain path line: the packages are found, the editable install among them is not.
    (site / "of_the_checkout.pth").write_text(sysconfig.get_path("purelib"))
    return scripts


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="only a git checkout has tracked files")
def test_the_wheel_has_every_tracked_file_of_the_package_and_its_folders(wheel: Path) -> None:
    # In a container the checkout may belong to another user, which git refuses unless told.
    git = ("git", "-c", "safe.directory=*", "ls-files")
    folders = ("pytest_autoweb", "prompts", "skills", "templates")
    tracked = run(*git, *folders, cwd=ROOT).split("\n")
    expected = {
        name if name.startswith("pytest_autoweb/") else f"pytest_autoweb/{name}"
        for name in tracked
        if name and (ROOT / name).exists()
    }

    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert expected - held == set()


def test_the_wheel_holds_nothing_but_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        tops = {name.split("/")[0] for name in archive.namelist()}

    assert {top for top in tops if not top.endswith(".dist-info")} == {"pytest_autoweb"}


def test_on_pypi_pictures_and_links_of_the_readme_lead_to_files_of_this_version(
    wheel: Path,
) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        about = email.message_from_bytes(archive.read(name))
    text = str(about.get_payload())
    urls = dict(url.split(", ") for url in about.get_all("Project-URL", ()))
    pages = f"{urls['Source']}/blob/v{about['Version']}/"
    files = pages.replace("github.com", "raw.githubusercontent.com").replace("/blob/", "/")

    assert about["Description-Content-Type"] == "text/markdown"
    assert f"]({files}docs/images/report.png)" in text
    for mark, target in re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text):
        path = target.removeprefix(files if mark else pages).partition("#")[0]
        assert (ROOT / path).is_file(), target


def test_the_command_starts_from_the_wheel(stranger: Path, tmp_path: Path) -> None:
    shown = run(stranger / "autoweb", "--help", cwd=tmp_path)

    assert shown.startswith("usage: autoweb")


def test_prompts_skills_and_templates_are_found_inside_the_installed_package(
    stranger: Path, tmp_path: Path
) -> None:
    ask = (
        "from pytest_autoweb.base.installation import asset_dir\n"
        "for folder in ('prompts', 'skills', 'templates'):\n"
        "    print(asset_dir(folder), any(asset_dir(folder).rglob('*.*')))"
    )
    lines = run(stranger / "python", "-c", ask, cwd=tmp_path).splitlines()

    assert [line.endswith(" True") for line in lines] == [True, True, True]
    assert all(line.startswith(str(stranger.parent)) for line in lines)


@pytest.mark.long
def test_pytest_offers_the_flags_from_the_wheel(stranger: Path, tmp_path: Path) -> None:
    shown = run(stranger / "python", "-m", "pytest", "--help", cwd=tmp_path)

    assert "--autoweb-models" in shown


@pytest.mark.parametrize("kind", ["case", "report"])
@pytest.mark.long
def test_the_published_schema_says_of_each_field_what_the_command_prints(kind: str) -> None:
    printed = json.loads(
        run(sys.executable, "-m", "pytest_autoweb.cli", "debug", "schema", kind, cwd=ROOT)
    )
    published = json.loads((ROOT / "docs" / "schema" / f"{kind}.json").read_text(encoding="utf-8"))

    assert fields_of(published) == fields_of(printed), "run `make schemas` and commit docs/schema"


def fields_of(schema: dict[str, Any]) -> dict[str, dict[str, str]]:
    """What is said of the fields of each type; all else may differ with pydantic's version."""
    types = {"": schema, **schema["$defs"]}
    return {
        name: {key: field.get("description", "") for key, field in shape["properties"].items()}
        for name, shape in types.items()
        if "properties" in shape
    }
