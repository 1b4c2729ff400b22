"""What `autoweb demo` shows: a small shop, its cases, and the recorded replies of two models.

Lays them out in a folder, runs them in a child process and says what came of it. The command in
`cli` reads the arguments and opens the report.
"""
