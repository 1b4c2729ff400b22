"""Run YAML web tasks on many LLMs under pytest, and compare them honestly.

What this module exports is the public interface. Everything below it is private by convention.
"""

__version__ = "0.1.0"
