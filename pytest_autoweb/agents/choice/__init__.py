"""Identification of the element that a model means.

Compares the text that a model expects with elements' texts, distinguishes elements that read alike,
and words the feedback on wrong choices. Shared by all strategies; nothing here asks a model or
touches a page's content.
"""
