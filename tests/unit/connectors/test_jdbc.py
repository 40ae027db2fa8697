"""The names of PyFlink's JdbcSink: what URLs and statements mean, and which are refused."""

from __future__ import annotations

import pytest
from psycopg import conninfo

from headgate.common import Types
from headgate.connectors.postgres.jdbc import libpq_url, translated
from headgate.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from headgate.errors import ProgramError, UnsupportedError


def options(url: str, user: str = "ann", password: str = "p@ss word&?") -> JdbcConnectionOptions:
    builder = (
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).with_driver_name("org.postgresql.Driver")
    )
    return builder.with_user_name(user).with_password(password).build()


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("jdbc:postgresql://db:5433/shop", {"host": "db", "port": "5433", "dbname": "shop"}),
        ("jdbc:postgresql://db/shop?sslmode=require", {"host": "db", "dbname": "shop", "sslmode": "require"}),
        ("jdbc:postgresql://a:1,b:2/shop", {"host": "a,b", "port": "1,2", "dbname": "shop"}),
        ("jdbc:postgresql:shop", {"dbname": "shop"}),
        (
            "jdbc:postgresql://db/shop?connectTimeout=5&user=bob&reWriteBatchedInserts=true",
            {"host": "db", "dbname": "shop", "connect_timeout": "5"},
        ),
    ],
)
def test_a_url_means_the_same(url: str, found: dict[str, str]) -> None:
    expected = {**found, "user": "ann", "password": "p@ss word&?"}
    assert conninfo.conninfo_to_dict(libpq_url(options(url))) == expected


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("jdbc:mysql://db/shop?password=secret", "'jdbc:mysql' is not a URL of PostgreSQL"),
        ("postgresql://ann:secret@db/shop", "is not a URL of PostgreSQL"),
        ("jdbc:postgresql://db/shop?password=secret&stringtype=unspecified", "the parameters stringtype of the URL"),
    ],
)
def test_a_url_that_means_something_else_is_refused_without_its_password(url: str, reason: str) -> None:
    with pytest.raises(UnsupportedError, match=reason) as caught:
        libpq_url(options(url))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("statement", "translation", "places"),
    [
        ("INSERT INTO t VALUES (?, ?)", "INSERT INTO t VALUES (%s, %s)", 2),
        ("UPDATE t SET a = '?' || ? WHERE \"b?\" LIKE 'x%'", "UPDATE t SET a = '?' || %s WHERE \"b?\" LIKE 'x%%'", 1),
        ("SELECT 'it''s ?' -- ?\n, a ?? b, ?", "SELECT 'it''s ?' -- ?\n, a ? b, %s", 1),
    ],
)
def test_question_marks_are_places_but_not_in_texts_names_and_comments(
    statement: str, translation: str, places: int
) -> None:
    assert translated(statement) == (translation, places)


def test_a_statement_with_another_number_of_places_than_fields_is_refused() -> None:
    types = Types.ROW([Types.STRING(), Types.INT()])
    with pytest.raises(ProgramError, match="has 1 question marks for rows of 2 fields"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", types, options("jdbc:postgresql://db/shop"))


def test_other_drivers_and_missing_urls_are_refused() -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder()
    with pytest.raises(UnsupportedError, match=r"no sink for the driver 'com\.mysql"):
        builder.with_driver_name("com.mysql.cj.jdbc.Driver")
    with pytest.raises(ProgramError, match="need a URL"):
        builder.build()


def test_options_are_what_was_set_and_otherwise_flinks() -> None:
    built = JdbcExecutionOptions.builder().with_batch_size(7).with_batch_interval_ms(200).with_max_retries(0).build()
    assert (built.get_batch_size(), built.get_batch_interval_ms(), built.get_max_retries()) == (7, 200, 0)
    defaults = JdbcExecutionOptions.defaults()
    assert (defaults.get_batch_size(), defaults.get_batch_interval_ms(), defaults.get_max_retries()) == (5000, 0, 3)
    with pytest.raises(ProgramError, match="batch_size"):
        JdbcExecutionOptions.builder().with_batch_size(0)
    made = options("jdbc:postgresql://db/shop")
    assert (made.get_db_url(), made.get_driver_name()) == ("jdbc:postgresql://db/shop", "org.postgresql.Driver")
    assert (made.get_user_name(), made.get_password()) == ("ann", "p@ss word&?")
    assert "p@ss" not in repr(made)
