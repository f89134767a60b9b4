"""What Alembic runs for a command of its own: the revisions, on the connection that it was handed."""

from __future__ import annotations

from alembic import context

context.configure(connection=context.config.attributes["connection"], version_table="chatmemory_schema")
context.run_migrations()
