"""Gates: rules that decide whether a run is good enough for CI, and so the exit code.

The numbers that they compare are computed in `analysis`; each built-in gate is in `gate_rules`.
"""
