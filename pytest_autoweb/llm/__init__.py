"""Language models: their names and settings, calls to them, cassettes, and parsing of replies."""
