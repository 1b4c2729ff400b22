"""The built-in panels of the report, each added to `PANELS`.

Their scripts and styles are files of `templates/report`, named by the panel.
"""
