"""The built-in capture modes: each module adds one, and there is no other list of them.

What they share is in `capture_mode`; which one stands in for another is decided in `capture`.
"""
