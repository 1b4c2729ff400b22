"""The recorded evidence of an attempt, so that it can be judged, even later and offline.

Traffic, downloads, the final page, scenes. The judging itself lives in `judging` and in
`judging/checks`.
"""
