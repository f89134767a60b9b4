"""Owners, titles and meta of conversations, sealed texts, and messages whose content was destroyed."""

from __future__ import annotations

from sqlalchemy import Column

from chatmemory.stores.migrations.steps import ID, KEY, LONG_BYTES, LONG_TEXT, number, refuse_downgrade, reshape

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the columns, all of them empty in the rows that are there."""
    reshape(
        "conversations",
        add=[
            Column("owner", ID),
            Column("about", LONG_TEXT),
            Column("sealed", LONG_BYTES),
            Column("key_id", KEY),
        ],
        make_unique={"conversations_of_owner": ["owner", "id"]},
    )
    reshape(
        "messages",
        add=[Column("sealed", LONG_BYTES), Column("key_id", KEY), number("redacted_version", null=True)],
        make_nullable={"payload": LONG_TEXT},
    )


def downgrade() -> None:
    """Refuse: nothing leads back."""
    refuse_downgrade()
