"""What readers of a run get.

`report.json`, the HTML page, markdown, the terminal section, GitHub's formats, merged reports.
The numbers themselves are computed in `analysis`.
"""
