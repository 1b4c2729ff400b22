"""The history of the tables, in the layout that Alembic expects."""
