"""Access to the page: opening it, showing it to a model, observing it and confining it.

Only this package and the sandbox's host use Playwright.
"""
