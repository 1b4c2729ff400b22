"""Strategy `codegen`.

The model plans, sees the pages, writes a script, and repairs it; or works by turns in the `refs`
dialect. Running and judging what it wrote is shared with other strategies and lives in
`attempt`.
"""
