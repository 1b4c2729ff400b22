"""How this process waits while other cells continue, and how many of them work at once.

Which cells are in flight is decided in `session/flights`.
"""
