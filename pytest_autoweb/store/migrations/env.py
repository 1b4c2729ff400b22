"""The script that Alembic runs for every migration, on the caller's connection."""

from alembic import context

from pytest_autoweb.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    # The caller has begun a transaction around all migrations already.
    transactional_ddl=False,
)
context.run_migrations()
