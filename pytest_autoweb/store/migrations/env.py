"""Run by Alembic for every migration; the connection and its transaction are the caller's."""

from alembic import context

from pytest_autoweb.store.tables import Base

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=Base.metadata,
    transactional_ddl=False,
)
context.run_migrations()
