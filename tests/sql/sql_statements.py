"""Statements that make what a test of databases reads."""

from penstock.io.databases import Database


def run(database: Database, *statements: str) -> None:
    """Run statements, and commit."""
    with database.session(writes=True) as session:
        for statement in statements:
            session.execute(statement)
        session.commit()
