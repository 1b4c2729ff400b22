"""The reports of a run.

`report.json`, the HTML page, markdown, the terminal section, GitHub's formats, merged reports. The
numbers themselves are computed in `results/analysis`.
"""
