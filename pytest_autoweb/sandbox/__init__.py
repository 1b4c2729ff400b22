"""Where generated code is checked and run: never in the test process."""
