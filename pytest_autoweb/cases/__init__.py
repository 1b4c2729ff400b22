"""Case files and the cases they become.

The contract of a case file, reading it with line numbers in errors, and the resulting case. The
checks of `expect` live in `judging/checks`, web servers in `session/servers`.
"""
