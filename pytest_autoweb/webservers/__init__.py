"""The web servers that case files name.

Each is started once per session, shared by all workers, and reliably stopped. The `webserver`
section of a case file is read in `cases`.
"""
