"""The strategy `codegen`.

The model plans, sees the pages, writes a script and repairs it, or works in turns in the `refs`
dialect. Running and judging scripts is shared with other strategies and lives in `attempt`.
"""
