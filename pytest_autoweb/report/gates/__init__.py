"""Gates: rules that decide whether a run is good enough for CI, and thus the exit code.

`analysis` computes the numbers that they compare; how the report shows gates is its own matter.
"""
