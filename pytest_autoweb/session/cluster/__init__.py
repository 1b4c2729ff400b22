"""Test processes on the nodes of a Ray cluster, and their requests to the session's machine.

What a test process does with its cells is the same on any machine, and lives in `session`.
"""
