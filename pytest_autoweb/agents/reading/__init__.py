"""Values that a test asks for, read from its page by a model and checked against what it shows.

The model only says which words of the page are meant; what they mean is read from them here.
"""
