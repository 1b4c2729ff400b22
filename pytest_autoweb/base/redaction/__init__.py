"""Takes secrets out of text before it leaves the process: prompts, logs, reports, cassettes.

Known values are found in every form in which they are written; keys that nobody declared are known
by their shape, or in diagnostics by the header or field they stand in. Nothing here reads files or
knows a case.
"""

from pytest_autoweb.base.redaction.environment_keys import (
    MASK,
    KeyMask,
    environment_keys,
    tidy_key,
    tidy_secrets,
    without_secrets,
)
from pytest_autoweb.base.redaction.http_credentials import redact_keys
from pytest_autoweb.base.redaction.key_shapes import SHAPES, KeyShape, redact_shapes
from pytest_autoweb.base.redaction.secret_forms import MIN_LENGTH, REDACTED, SECRET, Redactor
from pytest_autoweb.base.redaction.sensitive_names import (
    SECRET_PLACE,
    is_sensitive,
    is_sensitive_field,
    unlike_words,
)
from pytest_autoweb.base.redaction.structured import FieldMasks, password_names

__all__ = [
    "MASK",
    "MIN_LENGTH",
    "REDACTED",
    "SECRET",
    "SECRET_PLACE",
    "SHAPES",
    "FieldMasks",
    "KeyMask",
    "KeyShape",
    "Redactor",
    "environment_keys",
    "is_sensitive",
    "is_sensitive_field",
    "password_names",
    "redact_keys",
    "redact_shapes",
    "tidy_key",
    "tidy_secrets",
    "unlike_words",
    "without_secrets",
]
