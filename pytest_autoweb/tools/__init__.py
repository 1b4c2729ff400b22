"""Work on cases and runs outside a test session: record, import, explore, prove, verify, export.

Commands in `cli` read the arguments of each and print what came of it.
"""
