"""Check types: what a case may expect, each a class that holds its fields and knows how to look.

How a case is judged by its checks is in `judging/verdicts.py`, how case files are read in `cases`.
"""

# Each of these adds its types to `CHECKS`, which is thus complete for every other package.
from pytest_autoweb.judging.checks import (  # noqa: F401
    answer_checks,
    appearance_checks,
    assertion_checks,
    page_checks,
    server_checks,
    site_tool_checks,
    wire_checks,
    write_checks,
)
