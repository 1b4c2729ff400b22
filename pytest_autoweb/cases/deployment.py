"""What case files take from outside, so that one suite serves local, staging and preview sites."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urljoin, urlsplit

from pytest_autoweb.base.redaction import without_secrets

BASE_URL_VARIABLE = "PYTEST_BASE_URL"
"""The variable from which `--base-url` takes its default."""


@dataclass(frozen=True, slots=True)
class Deployment:
    """The tested deployment, as the command line and the environment name it.

    Attributes:
        base_url: the address of `--base-url`, against which relative entry URLs are resolved;
            empty if none was given.
        environ: the environment variables that expressions may name.
    """

    base_url: str = field(default_factory=lambda: os.environ.get(BASE_URL_VARIABLE, ""))
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    @property
    def variables(self) -> Mapping[str, str]:
        """Return the variables that are set and hold no keys.

        Keys and passwords belong under `secrets`, where no prompt and no report sees them. An
        empty variable counts as not set, as CI systems set those that are missing.
        """
        return {name: value for name, value in without_secrets(self.environ).items() if value}

    def absolute(self, url: str) -> str:
        """Return an entry URL in full; one that names its own host stays as it is."""
        if not self.base_url or urlsplit(url).scheme:
            return url
        return urljoin(self.base_url, url)


def missing_variable(name: str, environ: Mapping[str, str]) -> str:
    """Return the sentence about a variable that an expression cannot use."""
    if environ.get(name):
        return (
            f"the variable {name} holds a secret by its name; declare it under `secrets`, with "
            f"`env: {name}`"
        )
    return (
        f"the environment variable {name} is not set; set it, or write a default: "
        f"{{{{ env.{name} | default('...') }}}}"
    )
