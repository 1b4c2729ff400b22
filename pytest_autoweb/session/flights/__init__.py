"""Many cells in flight in one process: which are, and the page opened before its cell begins.

How anything waits while other cells continue is in `base/waiting`.
"""
