"""The case file: its contract, how it is read, and the web servers it names."""
