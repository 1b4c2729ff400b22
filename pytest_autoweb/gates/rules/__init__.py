"""The built-in gates, each added to `GATES` by its own function.

What all gates share lives one folder up, in `gates`.
"""
