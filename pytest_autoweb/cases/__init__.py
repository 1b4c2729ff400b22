"""Case files and the cases they become.

Its contract, how it is read with line numbers in errors, and the case it becomes. The checks of
`expect` live in `checks`, web servers in `webservers`.
"""
