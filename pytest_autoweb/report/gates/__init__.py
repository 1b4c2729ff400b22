"""Gates: rules that decide whether a run is good enough for CI, and thus the exit code.

The numbers that they compare are computed in `results/analysis`.
"""

# It adds the built-in gates to `GATES`, which is thus complete for every other package.
from pytest_autoweb.report.gates import gate_rules  # noqa: F401
