"""The report of a run: statistics, comparisons, and their JSON, HTML, markdown and terminal forms.

Everything here is computed from saved results; nothing runs a cell or asks a model.
"""
