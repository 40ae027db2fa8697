"""The command that shows the contents of a savepoint or checkpoint."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import click

from headgate.cli.exits import CommandFailedError, ExitCode
from headgate.cli.formatting import moment, print_json, print_table, size
from headgate.cli.options import json_option
from headgate.runtime.monitoring.statistics_json import Json

if TYPE_CHECKING:
    from headgate.savepoints import OperatorInfo, SavepointReader

_PICKLE: Final = "_pickle"
_CELL_MAX: Final = 100


@click.command()
@click.argument("path")
@click.argument("uid", required=False)
@click.argument("name", metavar="[STATE]", required=False)
@click.option("--limit", type=click.IntRange(1), default=20, show_default=True, help="Rows of a state to show.")
@json_option
def state(path: str, uid: str | None, name: str | None, limit: int, as_json: bool) -> None:
    """Show the contents of the savepoint or checkpoint at PATH.

    Without UID: its operators. With the uid or the name of an operator: the operator's states. With STATE: rows of this
    state. Pickled state is unpickled, which can run code: open only snapshots that you trust.

    \b
    Examples:
      headgate state /data/savepoints/savepoint-1f0c52-9a8b7c6d5e4f
      headgate state /data/checkpoints/<job id>/chk-17 counter
      headgate state /data/checkpoints/<job id>/chk-17 counter count --limit 100 --json
    """
    from headgate.savepoints import SavepointReader  # noqa: PLC0415  # Arrow takes long to load

    with SavepointReader.read(path) as reader:
        if uid is None:
            _print_operators(reader, as_json)
            return
        operator = _operator(reader, uid)
        if name is None:
            _print_states(reader, operator, as_json)
        else:
            _print_rows(list(islice(_rows(reader, operator, name), limit)), as_json)


def _operator(reader: SavepointReader, wanted: str) -> OperatorInfo:
    """Return the operator of this uid, or the only operator of this name. Raises CommandFailedError."""
    operators = reader.operators
    found = [each for each in operators if each.uid == wanted] or [each for each in operators if each.name == wanted]
    if len(found) == 1:
        return found[0]
    if found:
        uids = ", ".join(each.uid for each in found)
        raise CommandFailedError(ExitCode.FAILED, f"{len(found)} operators are called {wanted!r}: give a uid, {uids}")
    known = ", ".join(f"{each.uid} ({each.name})" for each in operators)
    raise CommandFailedError(ExitCode.FAILED, f"{reader} has no operator {wanted!r}; there are: {known}")


def _print_operators(reader: SavepointReader, as_json: bool) -> None:
    rows: list[Json] = [
        {
            "uid": each.uid,
            "name": each.name,
            "parallelism": each.parallelism,
            "max_parallelism": each.max_parallelism,
            "size_bytes": each.size_bytes,
            "has_keyed_state": each.has_keyed_state,
            "list_states": list(each.list_states),
            "broadcast_states": list(each.broadcast_states),
        }
        for each in reader.operators
    ]
    if as_json:
        snapshot = {"job_id": reader.job_id, "checkpoint_id": reader.checkpoint_id, "form": reader.form}
        print_json(snapshot | {"taken_ms": reader.taken_ms, "operators": rows})
        return
    what = "checkpoint" if reader.form == "checkpoint" else f"{reader.form} savepoint"
    click.echo(f"{what} {reader.checkpoint_id} of job {reader.job_id}, taken {moment(reader.taken_ms)}")
    shown = [
        [
            row["uid"],
            row["name"],
            f"{row['parallelism']}/{row['max_parallelism']}",
            size(row["size_bytes"]),
            ", ".join(["keyed state"] * row["has_keyed_state"] + row["list_states"] + row["broadcast_states"]) or None,
        ]
        for row in rows
    ]
    print_table(["UID", "NAME", "PARALLELISM", "SIZE", "STATES"], shown)


def _print_states(reader: SavepointReader, operator: OperatorInfo, as_json: bool) -> None:
    rows: list[Json] = [
        {
            "name": each.name,
            "kind": each.kind,
            "type": each.type,
            "has_time_to_live": each.has_time_to_live,
            "entries": each.entries,
            "size_bytes": each.size_bytes,
        }
        for each in (reader.states(operator.uid) if operator.has_keyed_state else [])
    ]
    rows += [{"name": name, "kind": "list"} for name in operator.list_states]
    rows += [{"name": name, "kind": "broadcast"} for name in operator.broadcast_states]
    if as_json:
        print_json({"uid": operator.uid, "name": operator.name, "states": rows})
    elif rows:
        head = ["STATE", "KIND", "TYPE", "ENTRIES", "SIZE"]
        shown = [
            [row["name"], row["kind"], row.get("type"), row.get("entries"), size(row.get("size_bytes"))] for row in rows
        ]
        print_table(head, shown)
    else:
        click.echo(f"Operator {operator.name} has no state.", err=True)


def _rows(reader: SavepointReader, operator: OperatorInfo, name: str) -> Iterator[Json]:
    if name in operator.list_states:
        return iter(reader.list_state(operator.uid, name).to_pylist())
    if name in operator.broadcast_states:
        return iter(reader.broadcast_state(operator.uid, name).to_pylist())
    return (row for batch in reader.batches(operator.uid, name) for row in batch.to_pylist())


def _print_rows(rows: list[Json], as_json: bool) -> None:
    shown = [_readable(row) for row in rows]
    if as_json:
        print_json({"rows": shown})
    elif shown:
        head = [column for column in shown[0] if any(row.get(column) is not None for row in shown)]
        print_table([column.upper() for column in head], [[_cell(row.get(column)) for column in head] for row in shown])


def _readable(row: Json) -> Json:
    """Return the columns except pickles. A pickle without a readable column is replaced by its length."""
    found = {column: value for column, value in row.items() if not column.endswith(_PICKLE)}
    for column, value in row.items():
        plain = column.removesuffix(_PICKLE)
        if column.endswith(_PICKLE) and value is not None and found.get(plain) is None:
            found[plain] = f"(pickled, {len(value)} bytes)"
    return found


def _cell(value: Any) -> str | None:
    text = None if value is None else str(value)
    return text if text is None or len(text) <= _CELL_MAX else f"{text[:_CELL_MAX]}..."
