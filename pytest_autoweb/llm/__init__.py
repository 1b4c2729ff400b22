"""Models.

How they are named, called through the gateway, recorded to cassettes, priced, and what their
replies mean. What a stage asks a model is decided in the stage, in `prompts/`.
"""
