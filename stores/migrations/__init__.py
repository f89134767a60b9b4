"""The way from each older schema to the newest, as an Alembic environment: `chatmemory.stores._sql_upgrade` runs it.

Decides: that every step looks before it changes something. So an upgrade that was interrupted where the database cannot
take back half of it (MariaDB, MySQL) goes on where it stopped. Nothing leads back: an older schema has no room for what
the newer one holds.
"""
