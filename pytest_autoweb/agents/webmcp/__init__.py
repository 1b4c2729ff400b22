"""The strategy `webmcp`: calls of the tools that a page offers by WebMCP, turn by turn.

What the page shows is the fallback, in the dialect `refs` of `codegen`.
"""
