"""`read_generic` and `write_generic`: files in all formats, `datagen`, `print` and `blackhole`."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import orc

from headgate import dataframe as pf
from headgate.errors import JobFailedError, ProgramError, UnsupportedError

T = pf.DataType
TYPES = {
    "yes": T.bool(),
    "tiny": T.int8(),
    "n": T.int64(),
    "f": T.float32(),
    "x": T.float64(),
    "d": T.decimal(10, 2),
    "s": T.string(),
    "c": T.fixed_size_string(3),
    "b": T.binary(),
    "day": T.date(),
    "at": T.timestamp(3),
    "moment": T.timestamp_ltz(6),
    "hour": T.time(3),
    "tags": T.list(T.string()),
    "r": T.struct({"a": T.int64(), "s": T.string()}),
    "m": T.map(T.string().not_null(), T.int64()),
}
RECORD: dict[str, Any] = {
    "yes": False,
    "tiny": -128,
    "n": 2**63 - 1,
    "f": 0.5,
    "x": -1e300,
    "d": Decimal("-12345678.90"),
    "s": 'ü "\n,',
    "c": "abc",
    "b": b"\x00\xff",
    "day": dt.date(1582, 1, 1),
    "at": dt.datetime(1969, 12, 31, 23, 59, 59, 450_000),
    "moment": dt.datetime(2024, 1, 1, 0, 0, 0, 5, tzinfo=dt.UTC),
    "hour": dt.time(23, 59, 59, 999_000),
    "tags": ["a", None, ""],
    "r": {"a": None, "s": "z"},
    "m": [("k", 1), ("l", None)],
}
LACKING = {"csv": {"m"}, "orc": {"hour"}, "avro": set[str](), "json": set[str](), "parquet": set[str]()}
"""The columns whose types a format does not have."""


def everything(names: list[str]) -> pf.DataFrame:
    schema = pa.schema([(name, TYPES[name].logical_type.arrow) for name in names])
    rows = [RECORD, {}, {**RECORD, "s": "NA", "tags": ["x"]}, {**RECORD, "x": 1e7, "f": 1e-4, "n": 0}]
    return pf.from_arrow(pa.Table.from_pylist([{n: row.get(n) for n in names} for row in rows], schema))


@pytest.mark.parametrize("kind", LACKING)
def test_every_type_comes_back_or_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    names = [name for name in TYPES if name not in LACKING[kind]]
    options = {"path": str(tmp_path), "format": kind} | ({"csv.null-literal": "NULL"} if kind == "csv" else {})
    frame = everything(names)
    frame.write_generic("filesystem", options=options)
    schema = {name: TYPES[name] for name in names}
    found = pf.read_generic("filesystem", schema=schema, options=options)
    wanted = [list(row) for row in frame.collect()]
    assert [list(row) for row in found.collect()] == wanted
    chosen = [name for name in ("moment", "n", "tags") if name in schema]
    assert [list(row) for row in found.select(*chosen).collect()] == [
        [row[names.index(name)] for name in chosen] for row in wanted
    ]
    for name in LACKING[kind]:
        with pytest.raises(ProgramError, match=name):
            pf.read_generic("filesystem", schema={name: TYPES[name]}, options=options)
        with pytest.raises(ProgramError, match=name):
            everything([name]).write_generic("filesystem", options=options)


LINES = b"""1,a,1.50
# no comment
2,"b ""x"", y",
x,c,1
3,d
4,"e
f",2.005
5,"g,3
"""


def test_lines_of_csv_that_do_not_fit_are_left_out_and_fields_are_null(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_bytes(LINES)
    schema = {"n": T.int32(), "s": T.string(), "d": T.decimal(5, 2)}
    options = {"path": str(tmp_path), "format": "csv", "csv.ignore-parse-errors": "true", "csv.allow-comments": "true"}
    found = pf.read_generic("filesystem", schema=schema, options=options)
    assert [list(row) for row in found.collect()] == [
        [1, "a", Decimal("1.50")],
        [2, 'b "x", y', None],
        [None, "c", Decimal("1.00")],
        [3, "d", None],
        [4, "e\nf", Decimal("2.01")],
    ]


@pytest.mark.parametrize(
    ("line", "says"),
    [(b"x,a", "'n'.*'x'"), (b"1", "1 fields instead of 2"), (b'1,"a', "end of data"), (b"1,\xff", "utf-8|UTF-8")],
)
def test_a_line_of_csv_that_does_not_fit_fails_the_job_by_file_and_line(tmp_path: Path, line: bytes, says: str) -> None:
    (tmp_path / "f.csv").write_bytes(b'1,"a\nb"\n' + line + b"\n")
    options = {"path": str(tmp_path), "format": "csv"}
    with pytest.raises(JobFailedError, match=rf"(?s)f\.csv', line 3.*({says}).*ignore-parse-errors"):
        pf.read_generic("filesystem", schema={"n": T.int64(), "s": T.string()}, options=options).collect()


def test_the_dialect_of_csv(tmp_path: Path) -> None:
    options = {
        "path": str(tmp_path),
        "format": "csv",
        "csv.field-delimiter": "\\t",
        "csv.quote-character": "'",
        "csv.null-literal": "-",
        "csv.array-element-delimiter": "|",
    }
    frame = pf.from_dict({"s": ["it's", None, "a\tb"], "a": [[1, 2], [], [3]]})
    frame.write_generic("filesystem", options=options)
    (file,) = tmp_path.glob("*.csv")
    assert file.read_text() == "'it''s'\t1|2\n-\t\n'a\tb'\t3\n"
    schema = {"s": T.string(), "a": T.list(T.int64())}
    assert pf.read_generic("filesystem", schema=schema, options=options).collect() == frame.collect()
    with pytest.raises(JobFailedError, match=r"divided by '\|'"):
        pf.from_dict({"a": [["x|y", "z"]]}).write_generic("filesystem", options=options)


def test_orc_reads_only_the_columns_of_the_plan_from_every_stripe(tmp_path: Path) -> None:
    table = pa.table({"a": pa.array(range(20_000), pa.int32()), "b": ["x" * 50] * 20_000})
    orc.write_table(table, tmp_path / "f.orc", stripe_size=1 << 16)
    schema = {"b": T.string(), "a": T.int64()}
    frame = pf.read_generic("filesystem", schema=schema, options={"path": str(tmp_path), "format": "orc"})
    assert f"Scan filesystem {tmp_path} [a]" in frame.select("a").explain()
    assert sorted(row.a for row in frame.select("a").collect()) == list(range(20_000))
    with pytest.raises(JobFailedError, match=r"f\.orc' has no column 'z'"):
        pf.read_generic(
            "filesystem", schema={"z": T.int64()}, options={"path": str(tmp_path), "format": "orc"}
        ).collect()


def test_avro_files_of_flink_have_timestamps_without_a_zone(tmp_path: Path) -> None:
    fastavro = pytest.importorskip("fastavro")
    own = {"type": "long", "logicalType": "timestamp-millis"}
    written = {"type": "record", "name": "record", "fields": [{"name": "at", "type": ["null", own]}]}
    with (tmp_path / "f.avro").open("wb") as file:
        fastavro.writer(file, written, [{"at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}, {"at": None}])
    options = {"path": str(tmp_path), "format": "avro"}
    found = pf.read_generic("filesystem", schema={"at": T.timestamp(3)}, options=options).collect()
    assert [row.at for row in found] == [dt.datetime(2024, 1, 1), None]
    for schema, says in [({"x": T.int64()}, "no field 'x'; there are 'at'"), ({"at": T.list(T.int64())}, "'at'")]:
        with pytest.raises(JobFailedError, match=says):
            pf.read_generic("filesystem", schema=schema, options=options).collect()


def test_random_columns_are_within_bounds_and_the_same_at_every_parallelism() -> None:
    schema = {
        "n": T.int64(),
        "t": T.int8(),
        "x": T.float64(),
        "d": T.decimal(5, 2),
        "s": T.string(),
        "c": T.fixed_size_string(4),
        "b": T.binary(),
        "yes": T.bool(),
        "at": T.timestamp_ltz(3),
        "a": T.list(T.int32()),
        "m": T.map(T.string().not_null(), T.int32()),
        "r": T.struct({"k": T.int32()}),
    }
    options = {
        "number-of-rows": "400",
        "fields.t.min": "-3",
        "fields.t.max": "3",
        "fields.x.min": "0",
        "fields.x.max": "1",
        "fields.s.length": "5",
        "fields.n.null-rate": "0.5",
        "fields.a.length": "2",
        "fields.a.element.min": "7",
        "fields.r.k.max": "-1",
    }
    found = pf.read_generic("datagen", schema=schema, options=options).collect()
    assert len(found) == 400
    assert {row.t for row in found} == set(range(-3, 4))
    assert all(0 <= row.x < 1 and abs(row.d) < 1000 and len(row.s) == 5 and len(row.c) == 4 for row in found)
    assert all(len(row.b) == 100 and len(row.a) == 2 and min(row.a) >= 7 and row.r.k < 0 for row in found)
    assert {row.yes for row in found} == {True, False}
    assert 100 < sum(row.n is None for row in found) < 300
    assert len({row.s for row in found}) > 390
    now = dt.datetime.now(dt.UTC)
    assert all(now - dt.timedelta(minutes=5) < row.at <= now + dt.timedelta(seconds=1) for row in found)
    again = pf.read_generic("datagen", schema=schema, options=options).select("n", "s").collect()
    assert sorted((row.s, str(row.n)) for row in again) == sorted((row.s, str(row.n)) for row in found)


def test_the_shortest_sequence_ends_the_rows() -> None:
    options = {
        "fields.a.kind": "sequence",
        "fields.a.start": "5",
        "fields.a.end": "9",
        "fields.s.kind": "sequence",
        "fields.s.start": "-1",
        "fields.s.end": "1",
    }
    found = pf.read_generic("datagen", schema={"a": T.int32(), "s": T.string()}, options=options)
    assert sorted(map(list, found.collect())) == [[5, "-1"], [6, "0"], [7, "1"]]


def test_rows_are_printed_or_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    frame = pf.from_dict({"n": [1, None], "s": ["a", "b"]})
    frame.write_generic("print", options={"standard-error": "true"})
    assert capsys.readouterr().err.splitlines() == ["+I[1, a]", "+I[null, b]"]
    both = pf.create_statement_set()
    frame.write_generic("print", options={"print-identifier": "x"}, statement_set=both)
    frame.write_generic("blackhole", options={}, statement_set=both)
    both.execute().wait()
    assert capsys.readouterr().out.splitlines() == ["x> +I[1, a]", "x> +I[null, b]"]


@pytest.mark.parametrize(
    ("connector", "options", "error", "says"),
    [
        ("filesytem", {}, ValueError, "did you mean 'filesystem'"),
        ("print", {}, ValueError, "can be read"),
        ("elasticsearch-7", {}, UnsupportedError, "in Java.*from_spark"),
        (7, {}, TypeError, "text"),
        ("datagen", {"fields.n.mim": "1"}, ValueError, r"did you mean 'fields\.n\.min'"),
        ("datagen", {"fields.n.min": "a"}, ValueError, "a whole number"),
        ("datagen", {"fields.n.min": "5", "fields.n.max": "4"}, ValueError, "in order"),
        ("datagen", {"fields.n.kind": "sequence"}, ValueError, r"needs the option 'fields\.n\.start'"),
        ("datagen", {"rows-per-second": 5}, TypeError, "texts"),
        ("datagen", {"connector": "datagen"}, ValueError, "first argument"),
        ("filesystem", {"path": "/data"}, ValueError, "needs the option 'format'"),
        ("filesystem", {"path": "/data", "format": "cvs"}, ValueError, "csv"),
        ("filesystem", {"path": "/data", "format": "csv", "json.x": "1"}, ValueError, r"no option 'json\.x'"),
        ("filesystem", {"path": "/data", "format": "csv", "csv.field-delimiter": "ab"}, ValueError, "one character"),
    ],
)
def test_wrong_connectors_and_options_are_refused(connector: Any, options: Any, error: Any, says: str) -> None:
    with pytest.raises(error, match=says):
        pf.read_generic(connector, schema={"n": T.int32()}, options=options)


def test_a_codec_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    for kind, name in [("orc", "orc.compress"), ("avro", "avro.codec"), ("parquet", "parquet.compression")]:
        with pytest.raises((ValueError, ProgramError), match=name):
            pf.range(1).write_generic("filesystem", options={"path": str(tmp_path), "format": kind, name: "zip"})
    assert list(tmp_path.iterdir()) == []


KAFKA = {
    "properties.bootstrap.servers": "localhost:9092",
    "properties.fetch.min.bytes": "10",
    "properties.group.id": "g",
    "topic": "orders;more",
    "value.format": "json",
    "value.json.ignore-parse-errors": "true",
    "key.format": "raw",
    "key.fields": "id",
    "scan.startup.mode": "timestamp",
    "scan.startup.timestamp-millis": "5000",
    "scan.bounded.mode": "latest-offset",
}


def test_options_of_kafka_are_the_arguments_of_read_kafka() -> None:
    schema = {"id": T.string(), "n": T.int64()}
    plan: Any = pf.read_generic("kafka", schema=schema, options=KAFKA)._plan
    wanted: Any = pf.read_kafka(
        "localhost:9092",
        schema=schema,
        topic=["orders", "more"],
        group_id="g",
        format_options={"ignore-parse-errors": "true"},
        key_format="raw",
        key_fields=["id"],
        startup_mode="timestamp",
        startup_timestamp_millis=5000,
        bounded_mode="latest-offset",
        properties={"fetch.min.bytes": "10"},
    )._plan
    assert plan.name == wanted.name
    for name in ("properties", "subscription", "start", "stop"):
        assert getattr(plan.source, name) == getattr(wanted.source, name)
    for name in ("value", "key", "key_fields", "value_has_key"):
        assert getattr(plan.source.parts, name) == getattr(wanted.source.parts, name)
    for wrong, says in [
        ({"scan.startup.mod": "timestamp"}, r"did you mean 'scan\.startup\.mode'"),
        ({"key.fields": "x", "key.format": "raw"}, "'x'"),
        ({"scan.startup.timestamp-millis": "soon"}, "a whole number"),
    ]:
        with pytest.raises(ValueError, match=says):
            pf.read_generic("kafka", schema=schema, options={**KAFKA, **wrong})
    with pytest.raises(ValueError, match="needs the option 'topic'"):
        pf.range(1).write_generic("kafka", options={"properties.bootstrap.servers": "localhost:9092"})
    with pytest.raises(ValueError, match="transactional_id_prefix"):
        pf.range(1).write_generic(
            "kafka",
            options={
                "properties.bootstrap.servers": "localhost:9092",
                "topic": "t",
                "format": "json",
                "sink.delivery-guarantee": "exactly-once",
            },
        )


def test_the_number_of_subtasks_that_write(tmp_path: Path) -> None:
    options = {"path": str(tmp_path), "format": "json", "sink.parallelism": "2"}
    pf.range(100).write_generic("filesystem", options=options)
    assert len(list(tmp_path.glob("*.json"))) == 2
    with pytest.raises(ValueError, match="parallelism"):
        pf.range(1).write_generic("blackhole", options={"sink.parallelism": "0"})


@pytest.mark.parametrize("option", ["csv.field-delimiter", "csv.quote-character"])
def test_csv_has_delimiters_and_quotes_beyond_ascii(tmp_path: Path, option: str) -> None:
    options = {"path": str(tmp_path), "format": "csv", option: "§"}
    frame = pf.from_dict({"s": ["a,b", "c§d", ""], "n": [1, 2, 3]})
    frame.write_generic("filesystem", options=options)
    found = pf.read_generic("filesystem", schema={"s": T.string(), "n": T.int64()}, options=options)
    assert found.collect() == frame.collect()


@pytest.mark.parametrize(
    "given", [{"csv.field-delimiter": '"'}, {"csv.escape-character": ","}, {"csv.quote-character": "\n"}]
)
def test_special_characters_of_csv_differ(given: dict[str, str]) -> None:
    options = {"path": "p", "format": "csv", **given}
    with pytest.raises(ValueError, match="must differ, and be no newlines"):
        pf.read_generic("filesystem", schema={"s": T.string()}, options=options)


@pytest.mark.parametrize("least", ["abc", "NaN", "Infinity", "1.005"])
def test_bounds_of_generated_decimals_are_checked(least: str) -> None:
    options = {"number-of-rows": "1", "fields.d.min": least}
    with pytest.raises(ValueError, match=r"fields\.d\.min"):
        pf.read_generic("datagen", schema={"d": T.decimal(4, 2)}, options=options)
    with pytest.raises(ValueError, match="rows-per-second above 0"):
        pf.read_generic("datagen", schema={"d": T.decimal(4, 2)}, options={"rows-per-second": "inf"})


def test_a_sequence_of_decimals() -> None:
    options = {"fields.d.kind": "sequence", "fields.d.start": "-1", "fields.d.end": "1"}
    found = pf.read_generic("datagen", schema={"d": T.decimal(3, 1)}, options=options)
    assert sorted(row.d for row in found.collect()) == [Decimal(-1), Decimal(0), Decimal(1)]
    with pytest.raises(ValueError, match="does not fit"):
        pf.read_generic("datagen", schema={"d": T.decimal(3, 2)}, options={**options, "fields.d.end": "10"})
