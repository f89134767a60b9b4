"""Conversations, their messages and their changes."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column

from chatmemory.stores.migrations.steps import ID, KEY, LONG_TEXT, ON_MYSQL, number, refuse_downgrade

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the tables that are not there."""
    op.create_table(
        "conversations",
        Column("id", ID, primary_key=True),
        Column("epoch", KEY, nullable=False),
        number("version"),
        number("next_seq"),
        number("first_seq"),
        Column("kept_seqs", LONG_TEXT, nullable=False),
        number("size"),
        number("created_at"),
        number("updated_at"),
        if_not_exists=True,
        **ON_MYSQL,
    )
    op.create_table(
        "messages",
        Column("conversation_id", ID, primary_key=True),
        number("seq", key=True),
        Column("kind", KEY, nullable=False),
        number("origin_seq", null=True),
        number("call_seq", null=True),
        Column("role", KEY, nullable=False),
        Column("payload", LONG_TEXT, nullable=False),
        number("tokens", null=True),
        Column("counter", LONG_TEXT),
        number("added_at"),
        number("added_version"),
        number("removed_version", null=True),
        Column("removed_reason", KEY),
        if_not_exists=True,
        **ON_MYSQL,
    )
    op.create_table(
        "changes",
        Column("conversation_id", ID, primary_key=True),
        number("version", key=True),
        Column("commit_id", KEY, nullable=False),
        number("at"),
        number("first_seq"),
        number("last_seq"),
        Column("kept_seqs", LONG_TEXT, nullable=False),
        Column("refusals", LONG_TEXT, nullable=False),
        if_not_exists=True,
        **ON_MYSQL,
    )


def downgrade() -> None:
    """Refuse: nothing leads back."""
    refuse_downgrade()
