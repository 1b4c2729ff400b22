"""The numbers of a run.

Rates with intervals, paired comparisons, history, what corrections gained. Pure functions over
rows. How numbers are written down lives in `report`, what they decide in `report/gates`.
"""
