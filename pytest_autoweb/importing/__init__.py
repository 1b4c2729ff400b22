"""Tasks of other benchmarks as case files.

What is read (pages, data sets, lists of tasks) was written by others, so it is written as data:
quoted, bounded, and with nothing in it that a case file would take for an expression.
"""
