"""Tasks of other benchmarks as case files.

The input (pages, data sets, lists of tasks) was written by others, so it is written out as data:
quoted, bounded, and free of anything that a case file would take for an expression.
"""
