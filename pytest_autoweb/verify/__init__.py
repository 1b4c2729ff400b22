"""`autoweb verify`.

Judging a saved run again, offline, from the evidence it kept, and running the controls of its
cases. The judging is that of `judge`; nothing here decides on its own.
"""
