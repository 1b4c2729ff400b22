"""The names of the strategies; apart from the case, which costs an import of pydantic."""

from typing import Literal

StrategyName = Literal["codegen", "act", "collect"]
"""`codegen` writes a plan and a script, `act` decides one action at a time on marked screenshots,
`collect` gathers the addresses behind a list."""
