"""Test processes on the nodes of a Ray cluster, and their requests to the session's machine.

`session.cluster_session` decides which cell runs where; this package does not use pytest.
"""
