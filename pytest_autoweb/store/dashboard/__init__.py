"""The web interface of a store: pages for people, REST for programs.

Its queries are in `store`.
"""
