"""What `autoweb record` makes of a person's work in a browser: oracle, secrets, checks, case file.

Playing the oracle and proving the case is what pytest does, as for any other case; it is started by
`commands/record_case.py`, not here.
"""
