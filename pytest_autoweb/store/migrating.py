"""The migration of a store's tables to the newest version, by Alembic."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection

from pytest_autoweb.errors import StoreError

_FOLDER = Path(__file__).parent / "migrations"


def migrate(connection: Connection) -> None:
    """Migrate the tables to the newest version, inside the connection's transaction.

    Raises:
        StoreError: the tables were written by a newer version of this package.
    """
    config = Config()
    # Alembic's options go through configparser, which would expand a lone percent sign.
    config.set_main_option("script_location", str(_FOLDER).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    known = {script.revision for script in scripts.walk_revisions()}
    current = MigrationContext.configure(connection).get_current_revision()
    if current == scripts.get_current_head():
        return
    if current is not None and current not in known:
        raise StoreError(
            f"the store was written by a newer version of pytest-autoweb (revision {current}); "
            "update this package"
        )
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
