"""How a page is opened, shown to a model as text, and asked by scripts of ours.

Pictures with numbers live in `browser/marks`, what is kept of a page for the judge in
`judging/evidence`.
"""
