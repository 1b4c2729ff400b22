"""A run that goes on, as a local web page.

`followed_run` reads what the run writes to its folder, `cell_view` one cell of it, and
`view_server` shows both to the browser of whoever knows the address. The command is `autoweb run
view` (`cli/commands/view_run.py`).
"""
