"""What cannot work is told before anything runs, or with the row: what it is, where, and what to do about it."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from headgate.connectors.postgres import PostgresFlushingSink, PostgresSink, PostgresTable, PreparedPostgresSink
from headgate.errors import ProgramError, SinkError, SuppressRestartsException
from headgate.functions.sink import CommitLostError, Sink, SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, open_sink, sink_context
from headgate.testing.servers.postgres import PostgresServer
from tests.nobody import nobody
from tests.postgres.databases import TestDatabase

pytestmark = pytest.mark.slow

SINKS = [PostgresSink, PreparedPostgresSink, PostgresFlushingSink]
COLUMNS = ["customer", "amount"]


@pytest.fixture
def shop(database: TestDatabase) -> TestDatabase:
    database.execute(
        "CREATE TABLE totals (customer text NOT NULL CHECK (customer <> ''), amount int, at timestamptz DEFAULT now())"
    )
    return database


@pytest.fixture(scope="module")
def plain() -> Iterator[PostgresServer]:
    """A server as it comes: it does not prepare transactions."""
    with PostgresServer() as server:
        yield server


def refusal(sink: Sink[Any]) -> str:
    with pytest.raises(SinkError) as caught:
        sink.prepare(JOB)
    assert "secret" not in "".join(traceback.format_exception(caught.value))
    return str(caught.value)


@pytest.mark.parametrize("make", SINKS)
def test_a_server_that_is_not_there_is_named(make: Any) -> None:
    with nobody() as address:
        told = refusal(make(PostgresTable(f"postgresql://ann:secret@{address}/shop", "totals", COLUMNS)))
    assert f"database 'shop' at {address}" in told
    assert "Connection refused" in told


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"user": "nobody", "password": "secret"}, 'password authentication failed for user "nobody"'),
        ({"password": "secret"}, 'password authentication failed for user "headgate"'),
        ({"database": "no_such"}, 'database "no_such" does not exist'),
    ],
)
@pytest.mark.parametrize("make", SINKS)
def test_a_wrong_login_or_database_is_named(
    make: Any, changed: dict[str, str], reason: str, postgres_server: PostgresServer
) -> None:
    assert reason in refusal(make(PostgresTable(postgres_server.url(**changed), "totals", COLUMNS)))


@pytest.mark.parametrize(
    ("name", "columns", "reasons"),
    [
        ("total", COLUMNS, ['relation "total" does not exist', "create the table, or correct its name"]),
        ("sales.totals", COLUMNS, ['schema "sales" does not exist']),
        ("totals", ["customer", "amounts"], ['column "amounts"', "correct the names of the columns"]),
        ("totals", ["Customer"], ['column "Customer"']),
    ],
)
@pytest.mark.parametrize("make", SINKS)
def test_a_wrong_table_or_column_is_named(
    make: Any, name: str, columns: list[str], reasons: list[str], shop: TestDatabase
) -> None:
    told = refusal(make(PostgresTable(shop.url, name, columns)))
    assert [reason for reason in reasons if reason not in told] == []


@pytest.mark.parametrize("make", [PostgresSink, PostgresFlushingSink])
def test_a_key_without_an_index_is_refused(make: Any, shop: TestDatabase) -> None:
    told = refusal(make(PostgresTable(shop.url, "totals", COLUMNS, key=["customer"])))
    assert "an upsert needs a primary key or unique index on exactly the columns of the key" in told


@pytest.mark.parametrize("make", SINKS)
def test_a_column_that_needs_a_value_and_gets_none_is_named(make: Any, shop: TestDatabase) -> None:
    shop.execute(
        "CREATE DOMAIN code AS text NOT NULL",
        "CREATE TABLE orders (id serial PRIMARY KEY, no int GENERATED ALWAYS AS IDENTITY, at timestamptz NOT NULL "
        "DEFAULT now(), twice int NOT NULL GENERATED ALWAYS AS (1 + 1) STORED, amount int, place text NOT NULL, "
        "kind code)",
    )
    told = refusal(make(PostgresTable(shop.url, "orders", ["amount"])))
    assert "'place', 'kind' must not be NULL" in told
    assert "add it to the columns of PostgresTable" in told
    make(PostgresTable(shop.url, "orders", ["place", "kind"])).prepare(JOB)


@pytest.mark.parametrize("make", SINKS)
def test_a_column_that_a_trigger_may_fill_is_not_refused(make: Any, shop: TestDatabase) -> None:
    shop.execute(
        "CREATE TABLE orders (amount int, place text NOT NULL)",
        "CREATE FUNCTION fill() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.place = 'Oslo'; RETURN NEW; END $$",
        "CREATE TRIGGER fill BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION fill()",
    )
    make(PostgresTable(shop.url, "orders", ["amount"])).prepare(JOB)


@pytest.mark.parametrize("make", [PostgresSink, PostgresFlushingSink])
@pytest.mark.parametrize("deferred", ["DEFERRABLE", "DEFERRABLE INITIALLY DEFERRED"])
def test_a_deferrable_key_is_refused(make: Any, deferred: str, shop: TestDatabase) -> None:
    shop.execute(f"CREATE TABLE sums (place text, amount int, day int, CONSTRAINT one UNIQUE (day, place) {deferred})")
    told = refusal(make(PostgresTable(shop.url, "sums", ["place", "day", "amount"], key=["place", "day"])))
    assert "the constraint one on the key ('place', 'day') is deferrable" in told
    make(PostgresTable(shop.url, "sums", ["place", "day", "amount"])).prepare(JOB)
    shop.execute("ALTER TABLE sums DROP CONSTRAINT one", "ALTER TABLE sums ADD UNIQUE (place, day)")
    shop.execute(f"ALTER TABLE sums ADD UNIQUE (amount) {deferred}")
    make(PostgresTable(shop.url, "sums", ["place", "day", "amount"], key=["place", "day"])).prepare(JOB)


def test_an_upsert_by_prepared_transactions_is_refused() -> None:
    with pytest.raises(ProgramError, match="use PostgresSink"):
        PreparedPostgresSink(PostgresTable("postgresql://ann@db/shop", "totals", COLUMNS, key=["customer"]))


def test_a_user_without_rights_is_told_what_is_missing(shop: TestDatabase, postgres_server: PostgresServer) -> None:
    shop.execute("DROP ROLE IF EXISTS clerk", "CREATE ROLE clerk LOGIN PASSWORD 'secret'")
    table = PostgresTable(postgres_server.url(shop.name, user="clerk", password="secret"), "totals", COLUMNS)
    told = refusal(PostgresSink(table))
    assert "cannot make the schema 'headgate'" in told
    assert "docs/guides/postgres.md" in told
    shop.execute(f"GRANT CREATE ON DATABASE {shop.name} TO clerk")
    assert "permission denied for table totals" in refusal(PostgresSink(table))
    shop.execute("GRANT SELECT, INSERT ON totals TO clerk")
    PostgresSink(table).prepare(JOB)


def test_the_schema_may_be_made_by_somebody_else(shop: TestDatabase, postgres_server: PostgresServer) -> None:
    shop.execute("DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN PASSWORD 'secret'")
    shop.execute("CREATE SCHEMA headgate AUTHORIZATION guest", "GRANT SELECT, INSERT ON totals TO guest")
    url = postgres_server.url(shop.name, user="guest", password="secret")
    PostgresSink(PostgresTable(url, "totals", COLUMNS)).prepare(JOB)


def test_a_server_that_does_not_prepare_transactions_is_refused_before_anything_runs(plain: PostgresServer) -> None:
    with plain.connect() as connection:
        connection.execute("CREATE TABLE totals (customer text, amount int)")
    told = refusal(PreparedPostgresSink(PostgresTable(plain.url(), "totals", COLUMNS)))
    assert "max_prepared_transactions = 0" in told
    assert "use PostgresSink" in told


def test_a_server_that_prepares_too_few_transactions_fails_the_job_for_good(shop: TestDatabase) -> None:
    sink = PreparedPostgresSink(PostgresTable(shop.url, "totals", COLUMNS))
    sink.prepare(JOB)
    context = replace(sink_context(), parallelism=21)
    with pytest.raises(SinkError, match="max_prepared_transactions = 20, too few for 21 subtasks") as caught:
        sink.committer(context).recover([])
    assert isinstance(caught.value.__cause__, SuppressRestartsException)


def test_where_all_sinks_together_prepare_too_much_the_error_says_what_to_set(shop: TestDatabase) -> None:
    sink = PreparedPostgresSink(PostgresTable(shop.url, "totals", COLUMNS))
    sink.prepare(JOB)
    writers = [open_sink(sink, sink_context(subtask=subtask))[0] for subtask in range(21)]
    for writer in writers[:20]:
        write_and_prepare(writer, [("ann", 1)])
    with pytest.raises(SinkError, match=r"maximum number .* reached; Increase .*max_prepared_transactions"):
        write_and_prepare(writers[20], [("ann", 1)])
    for writer in writers:
        writer.close()
    shop.execute(*(f"ROLLBACK PREPARED '{gid}'" for gid in shop.prepared()))


def write_and_prepare(writer: SinkWriter[Any], rows: list[Any]) -> None:
    writer.write(rows)
    writer.prepare_commit(CheckpointId(1))


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (("ann", "much"), "column 'amount' is int4 and does not take 'much'"),
        (("ann", 2**40), "out of range"),
        ((None, 1), "null value"),
        (("", 1), "check constraint"),
        (("ann", object()), "only numbers fit"),
        (("a\0b", 1), "NUL"),
    ],
)
@pytest.mark.parametrize("make", SINKS)
def test_a_row_that_does_not_fit_is_named_when_it_is_written(
    make: Any, row: tuple[Any, Any], reason: str, shop: TestDatabase
) -> None:
    sink = make(PostgresTable(shop.url, "totals", COLUMNS))
    sink.prepare(JOB)
    writer, _ = open_sink(sink, sink_context())
    with pytest.raises(SinkError, match=reason) as caught:
        write_and_prepare(writer, [("bob", 1), ("bob", 2), row, ("bob", 3)])
    writer.close()
    assert f"the row {dict(zip(COLUMNS, row, strict=True))} cannot be written to table 'totals'" in str(caught.value)


def test_rows_that_another_row_of_the_table_excludes_fail_the_job_for_good_and_stay(shop: TestDatabase) -> None:
    sink = PostgresSink(PostgresTable(shop.url, "totals", COLUMNS))
    sink.prepare(JOB)
    writer, committer = open_sink(sink, sink_context())
    writer.write([("ann", 1), ("bob", 2)])
    waiting = writer.prepare_commit(CheckpointId(1))
    writer.close()
    shop.execute("CREATE UNIQUE INDEX ON totals (customer)", "INSERT INTO totals VALUES ('ann', 7)")
    with pytest.raises(CommitLostError, match="duplicate key value violates unique constraint") as caught:
        committer.commit(waiting)
    (staged,) = shop.staged()
    assert f'headgate."{staged}"' in str(caught.value)
    shop.execute(f"""UPDATE headgate."{staged}" SET customer = 'eve' WHERE customer = 'ann'""")
    committer.commit(waiting)
    assert shop.execute("SELECT customer, amount FROM totals ORDER BY amount") == [("eve", 1), ("bob", 2), ("ann", 7)]
