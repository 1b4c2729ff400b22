"""The correction arms: how a failed attempt is tried again.

Each module but `correction_arm` adds one, and there is no other list of them. The loop that runs
them is `stages/correct.py`; what a retry may know is `calibrate/guidance.py`.
"""
