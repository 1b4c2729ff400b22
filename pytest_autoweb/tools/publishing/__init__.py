"""Output for other people: benchmarks in one archive, and runs as static pages.

Everything written here records the origin of each part, so its recipients can check it.
"""
