"""A cell's browser: its page as text and as numbered pictures, and its border to the network.

What generated code may do with the page is decided in `sandbox`, what is kept of it for the judge
in `judging/evidence`.
"""
