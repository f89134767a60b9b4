"""Applications with migrations of their own: our tables among theirs, as README says, in a real Alembic environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from attrs import frozen
from sqlalchemy import inspect, make_url, text

from chatmemory import MessageWindowChatMemory, UserMessage
from chatmemory.stores import SqlChatMemoryStore, schema_metadata, schema_revision, upgrade_schema
from chatmemory.stores._sql_schema import NEWEST, REVISIONS
from tests.stores.schemas import described, drop_all, engine_of

ROOT = Path(__file__).parents[2]
MODELS = """
from sqlalchemy import Integer, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

class Base(DeclarativeBase):
    pass

class User(Base):
    __tablename__ = "users"
    id: Mapped[int] = mapped_column(Integer, primary_key=True)
    name: Mapped[str] = mapped_column(String(40))
"""


@frozen
class Application:
    """A folder with an application: its models, and an environment made by ``alembic init``."""

    folder: Path

    def alembic(self, *arguments: str) -> str:
        """Run Alembic's command there, and return what it printed; a failure fails the test with that."""
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-m", "alembic", *arguments]
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, check=False)
        assert 0 == done.returncode, done.stdout + done.stderr
        return done.stdout + done.stderr

    def change(self, name: str, old: str, new: str) -> None:
        """Replace a text that stands in a file once."""
        path = self.folder / name
        before = path.read_text("utf-8")
        assert 1 == before.count(old)
        path.write_text(before.replace(old, new), "utf-8")


def readme_lines(what: str) -> str:
    """Return the lines that README has for an ``env.py``."""
    readme = (ROOT / "README.md").read_text("utf-8")
    found = re.search(rf"<!-- not run: lines of an env.py: {what} -->\n```python\n(.*?)```\n", readme, re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture
def application(tmp_path: Path, database_url: str) -> Application:
    """An application on an empty database, as ``alembic init`` begins it."""
    application = Application(tmp_path)
    application.alembic("init", "migrations")
    (tmp_path / "myapp").mkdir()
    (tmp_path / "myapp/__init__.py").touch()
    (tmp_path / "myapp/models.py").write_text(MODELS, "utf-8")
    url = engine_of(database_url).url.render_as_string(hide_password=False)
    application.change("alembic.ini", "driver://user:pass@localhost/dbname", url)
    return application


def ours(url: str) -> list[list[Any]]:
    """Return what the database says of our tables only."""
    found = ([row for row in rows if row[0] in schema_metadata().tables] for rows in described(url))
    return [rows for rows in found if rows]


def has_users(url: str) -> bool:
    """Whether the application's own table is there."""
    engine = engine_of(url)
    found = inspect(engine).has_table("users")
    engine.dispose()
    return found


def test_its_migrations_make_our_tables(application: Application, database_url: str) -> None:
    """With our metadata beside its own, autogenerate makes our tables as the first use does; the store uses them."""
    upgrade_schema(database_url)
    made = ours(database_url)
    drop_all(database_url)
    application.change("migrations/env.py", "target_metadata = None\n", readme_lines("metadata"))
    application.change(
        "migrations/script.py.mako", "import sqlalchemy as sa\n", "import sqlalchemy as sa\nimport chatmemory.stores\n"
    )

    application.alembic("revision", "--autogenerate", "-m", "first")
    application.alembic("upgrade", "head")

    assert has_users(database_url)
    assert made == ours(database_url)
    assert None is schema_revision(database_url)
    with SqlChatMemoryStore(database_url) as store:
        MessageWindowChatMemory("c", max_messages=9, store=store).add(UserMessage("u"))
    assert NEWEST == schema_revision(database_url)
    assert "No new upgrade operations detected" in application.alembic("check")


def test_a_change_that_its_migrations_made_is_found(database_url: str) -> None:
    """Where an application's migration has changed our tables already, an upgrade writes the revision and no more."""
    upgrade_schema(database_url)
    before = described(database_url)
    engine = engine_of(database_url)
    with engine.begin() as connection:
        connection.execute(text("UPDATE chatmemory_schema SET version_num = :old"), {"old": REVISIONS[0]})
    engine.dispose()
    assert NEWEST == upgrade_schema(database_url)
    assert before == described(database_url)


def test_its_migrations_leave_our_tables_alone(application: Application, database_url: str) -> None:
    """With our names left out, autogenerate neither makes nor drops our tables, split ones neither."""
    is_postgresql = make_url(database_url).get_backend_name() == "postgresql"
    upgrade_schema(database_url, partitions=4 if is_postgresql else 0)
    before = ours(database_url)
    models = "from myapp.models import Base\ntarget_metadata = Base.metadata\n"
    application.change("migrations/env.py", "target_metadata = None\n", models + readme_lines("include_name"))
    given = "connection=connection, target_metadata=target_metadata"
    application.change("migrations/env.py", given, f"{given}, include_name=include_name")

    application.alembic("revision", "--autogenerate", "-m", "first")
    application.alembic("upgrade", "head")

    assert has_users(database_url)
    assert before == ours(database_url)
    (script,) = (application.folder / "migrations/versions").glob("*.py")
    assert [] == [name for name in schema_metadata().tables if f"'{name}" in script.read_text("utf-8")]
    assert "No new upgrade operations detected" in application.alembic("check")
