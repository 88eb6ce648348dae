"""Which runs have appended to tables of a database: a table of their ids, written in the transaction of the rows."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from penstock.core.errors import OutputError
from penstock.io.databases import Database, Session
from penstock.io.databases.base import TableName, text_literal

RUNS = "_penstock_runs"


@dataclass(frozen=True)
class SqlRuns:
    """The runs whose rows are in a table; ``_penstock_runs (table_name, run_id)`` of its schema names them.

    Parameters
    ----------
    database : Database
    table : TableName
    """

    database: Database
    table: TableName

    def prepare(self) -> None:
        """Make the table of runs where there is none."""
        try:
            self._create()
        except OutputError:
            with self.database.session(error=OutputError) as session:
                if not self._is_there(session):  # else another run has made it in the same moment
                    raise

    def has(self, session: Session, run_id: str) -> bool:
        """Return whether the rows of a run are in the table."""
        if not self._is_there(session):
            return False
        of_run = f"{self._of_table} AND run_id = {text_literal(run_id)}"
        return bool(session.first(f"SELECT COUNT(*) FROM {self._runs} WHERE {of_run}")[0])

    def add(self, session: Session, run_id: str) -> None:
        """Note that they are in it, once the transaction is committed."""
        session.execute(f"INSERT INTO {self._runs} VALUES ({text_literal(self.table.name)}, {text_literal(run_id)})")

    def forget(self, session: Session) -> None:
        """Note that the table has no rows of earlier runs any more."""
        if self._is_there(session):
            session.execute(f"DELETE FROM {self._runs} WHERE {self._of_table}")

    def _create(self) -> None:
        with self.database.session(writes=True, error=OutputError) as session:
            if self._is_there(session):
                return
            text = self.database.declare(pa.string())
            columns = f"table_name {text} NOT NULL, run_id {text} NOT NULL, PRIMARY KEY (table_name, run_id)"
            session.execute(f"CREATE TABLE {self._runs} ({columns})")
            session.commit()

    def _is_there(self, session: Session) -> bool:
        return RUNS in self.database.tables_like(session, self.table, RUNS)

    @property
    def _runs(self) -> str:
        return self.database.table(TableName(RUNS, self.table.schema))

    @property
    def _of_table(self) -> str:
        return f"table_name = {text_literal(self.table.name)}"
