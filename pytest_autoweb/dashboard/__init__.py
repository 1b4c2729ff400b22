"""The web interface of a store: pages for people and a REST API for programs.

It only reads the store; `autoweb store` and the sessions write it.
"""
