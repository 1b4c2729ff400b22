"""pytest-autoweb: run YAML web tasks on many LLMs under pytest and compare them honestly."""

__version__ = "0.1.0"
