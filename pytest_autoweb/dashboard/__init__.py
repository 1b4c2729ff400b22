"""The web face of a store: pages for people, REST for programs.

The questions it asks are written in `store`.
"""
