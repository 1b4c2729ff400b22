"""Requests of coding agents: an MCP server with which they list, run, prove and export cases.

`agent_server` declares the tools, `jobs` runs what takes long as the commands that people use,
`cell_story` says of a cell what an agent needs to mend it, and `bounds` keeps both within limits.
The command is `autoweb mcp` (`cli/commands/serve_mcp.py`).
"""
