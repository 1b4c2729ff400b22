"""What a run leaves behind: its values, its folder on disk, and the numbers computed from it.

How these are shown to readers is up to `report`; databases over many runs are in `store`.
"""
