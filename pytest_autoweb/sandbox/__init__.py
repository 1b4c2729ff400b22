"""Checking and running of generated code, always outside the test process."""
