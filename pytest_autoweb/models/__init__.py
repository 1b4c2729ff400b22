"""Models.

How they are named, called through the gateway, recorded to cassettes and priced, and how their
replies are read. Each stage owns its prompts, in `prompts/`.
"""
