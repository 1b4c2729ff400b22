"""The web servers that case files name.

Started once per session, shared by all workers, and stopped for sure. The case file's
`webserver` section is read in `cases`.
"""
