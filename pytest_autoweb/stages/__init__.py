"""The steps of the codegen strategy, one file each, one signature."""
