"""The page: how it is opened, shown to a model, watched and confined.

Only this folder and the sandbox host know Playwright.
"""
