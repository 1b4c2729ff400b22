"""Gates: rules that decide whether a run is good enough for CI, and thus the exit code.

The numbers that they compare are computed in `results/analysis`.
"""
