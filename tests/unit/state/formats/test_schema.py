"""Schemas: which types may follow which, and what becomes of the values."""

from __future__ import annotations

import copy
import json
import re
from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import RestoreError
from headgate.state.formats.codecs import codec_for
from headgate.state.formats.schema import Incompatible, Migrate, Same, StateMeta, compatibility
from headgate.types.row import Row, RowKind
from headgate.types.typeinfo import TypeInformation, Types
from tests.unit.state.types_and_values import TYPES, conforms, evolved, values

PAGE = Path(__file__).parents[4] / "docs" / "guides" / "schema-evolution.md"
NAMESPACE = {name: getattr(Types, name) for name in vars(Types) if name.isupper()} | {"Row": Row}
OLD_ROW, NEW_ROW = Types.ROW([Types.INT()]), Types.ROW([Types.INT(), Types.INT()])


@dataclass(frozen=True)
class TableRow:
    """One line of the table of the documentation, with one of its declared types."""

    saved: str
    declared: str
    outcome: str
    instance: tuple[str, ...]


def table() -> list[TableRow]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    columns = [[re.findall(r"`([^`]*)`", cell) or [cell.strip()] for cell in line.split("|")[1:-1]] for line in lines]
    return [
        TableRow(saved[0], one, outcome[0], tuple(instance))
        for saved, declared, outcome, instance in columns
        for one in declared
    ]


def value_state(type_info: TypeInformation, kind: str = "value", **flags: bool) -> StateMeta:
    return StateMeta("s", kind, type_info, **flags)


def migrate(old: StateMeta, new: StateMeta) -> Migrate:
    outcome = compatibility(old, new)
    assert isinstance(outcome, Migrate)
    return outcome


@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row.saved}-{row.declared}")
def test_the_table_of_the_documentation_holds(row: TableRow) -> None:
    outcome = compatibility(value_state(eval(row.saved, NAMESPACE)), value_state(eval(row.declared, NAMESPACE)))
    word = {Same: "same", Migrate: "migrated", Incompatible: "refused"}[type(outcome)]
    assert word == row.outcome.partition(":")[0]
    if not isinstance(outcome, Incompatible):
        before, after = (eval(text, NAMESPACE) for text in row.instance)
        assert (outcome.convert(before) if isinstance(outcome, Migrate) else before) == after


def test_the_table_has_every_outcome() -> None:
    assert {row.outcome.partition(":")[0] for row in table()} == {"same", "migrated", "refused"}


@given(st.data())
@pytest.mark.slow
def test_a_converted_value_is_one_of_the_new_type_and_the_old_value_stays(data: st.DataObject) -> None:
    old = data.draw(TYPES)
    new = data.draw(evolved(old))
    value = data.draw(values(old))
    before = copy.deepcopy(value)
    outcome = compatibility(value_state(old), value_state(new))
    assert not isinstance(outcome, Incompatible)
    converted = outcome.convert(value) if isinstance(outcome, Migrate) else value
    assert conforms(converted, new)
    assert repr(value) == repr(before)


@given(st.data())
@pytest.mark.slow
def test_bytes_of_a_state_that_stays_the_same_are_read_by_the_codec_of_the_new_type(data: st.DataObject) -> None:
    old = data.draw(TYPES)
    new = data.draw(evolved(old))
    value = data.draw(values(old))
    if isinstance(compatibility(value_state(old), value_state(new)), Same):
        assert repr(codec_for(new).decode(codec_for(old).encode(value))) == repr(value)


@given(TYPES)
def test_a_type_is_the_same_as_itself(kind: TypeInformation) -> None:
    assert compatibility(value_state(kind), value_state(kind)) == Same()


@given(TYPES, st.booleans(), st.booleans())
def test_a_schema_survives_json(kind: TypeInformation, ttl: bool, namespaced: bool) -> None:
    meta = StateMeta("ü", "value", kind, ttl, namespaced)
    assert StateMeta.from_json(json.loads(json.dumps(meta.to_json()))) == meta


def test_a_schema_of_a_later_version_is_refused_by_name() -> None:
    description = value_state(Types.INT()).to_json() | {"version": 2}
    with pytest.raises(RestoreError, match=r"state 's' .* version 2 .* reads version 1; restore with the release"):
        StateMeta.from_json(description)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (value_state(Types.LIST(Types.INT())), value_state(Types.LIST(Types.INT()), "list")),
        (value_state(Types.INT(), "reducing"), value_state(Types.INT(), "aggregating")),
        (value_state(Types.INT(), namespaced=True), value_state(Types.INT())),
    ],
)
def test_a_state_keeps_its_kind(old: StateMeta, new: StateMeta) -> None:
    outcome = compatibility(old, new)
    assert isinstance(outcome, Incompatible)
    assert (
        f"saved as {old.describe()} and is now declared as {new.describe()}: a state keeps its kind" in outcome.reason
    )


def test_the_reason_leads_to_the_place_deep_inside() -> None:
    old = Types.MAP(Types.STRING(), Types.ROW_NAMED(["a"], [Types.TUPLE([Types.LIST(Types.STRING())])]))
    new = Types.MAP(Types.STRING(), Types.ROW_NAMED(["a"], [Types.TUPLE([Types.LIST(Types.LONG())])]))
    outcome = compatibility(value_state(old), value_state(new))
    assert isinstance(outcome, Incompatible)
    assert (
        "in the values, in field 'a', at place 0 of the tuple, in the elements, String cannot become Long; declare it "
        "as it was saved, or give the new state another name"
    ) in outcome.reason


def test_time_to_live_may_be_turned_on_or_off() -> None:
    with_ttl, without = value_state(Types.INT(), ttl=True), value_state(Types.INT())
    assert compatibility(with_ttl, without) == Same()
    assert compatibility(without, with_ttl) == Same()


def test_values_are_converted_within_their_times_as_they_were_saved() -> None:
    outcome = migrate(value_state(OLD_ROW, ttl=True), value_state(NEW_ROW))
    assert outcome.convert((17, Row(1))) == (17, Row(1, None))


@pytest.mark.parametrize("ttl", [False, True])
def test_elements_of_a_list_state_are_converted(ttl: bool) -> None:
    before, after = ((17, Row(1)), (17, Row(1, None))) if ttl else (Row(1), Row(1, None))
    old, new = (value_state(Types.LIST(row), "list", ttl=ttl) for row in (OLD_ROW, NEW_ROW))
    outcome = migrate(old, new)
    assert outcome.convert([before, before]) == [after, after]


@pytest.mark.parametrize("ttl", [False, True])
def test_values_of_a_map_state_are_converted(ttl: bool) -> None:
    before, after = ((17, Row(1)), (17, Row(1, None))) if ttl else (Row(1), Row(1, None))
    old, new = (value_state(Types.MAP(Types.STRING(), row), "map", ttl=ttl) for row in (OLD_ROW, NEW_ROW))
    outcome = migrate(old, new)
    assert outcome.convert({"k": before}) == {"k": after}


def test_a_row_keeps_its_kind() -> None:
    converted = migrate(value_state(OLD_ROW), value_state(NEW_ROW)).convert(Row.of_kind(RowKind.DELETE, 1))
    assert converted.get_row_kind() is RowKind.DELETE


def test_a_row_whose_names_are_in_another_order_than_its_type_says_is_read_by_name() -> None:
    old = Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.INT()])
    new = Types.ROW_NAMED(["b", "a", "c"], [Types.INT(), Types.INT(), Types.INT()])
    assert migrate(value_state(old), value_state(new)).convert(Row(a=1, b=2)) == Row("b", "a", "c")(2, 1, None)


@pytest.mark.parametrize(
    ("before", "after"), [((1,), (1, None)), ([1], [1, None]), ("text", "text"), ((1, 2, 3), (1, 2, 3)), (None, None)]
)
def test_a_tuple_or_list_may_stand_for_a_row_and_what_is_no_row_stays(before: Any, after: Any) -> None:
    assert migrate(value_state(OLD_ROW), value_state(NEW_ROW)).convert(before) == after


@pytest.mark.parametrize("row", [Row(x=1), Row(a=1, x=2), Row(a=1)])
def test_a_row_with_other_names_than_its_type_stays(row: Row) -> None:
    old = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.INT()])
    new = Types.ROW_NAMED(["b", "a"], [Types.INT(), Types.INT()])
    assert migrate(value_state(old), value_state(new)).convert(row) == row


def test_what_is_no_collection_where_one_was_declared_stays() -> None:
    for wrap in (Types.LIST, lambda row: Types.MAP(Types.STRING(), row), lambda row: Types.TUPLE([row])):
        assert migrate(value_state(wrap(OLD_ROW)), value_state(wrap(NEW_ROW))).convert("text") == "text"


def test_collections_keep_their_class() -> None:
    pair = namedtuple("pair", ["left"])
    in_tuple = migrate(value_state(Types.TUPLE([OLD_ROW])), value_state(Types.TUPLE([NEW_ROW])))
    assert repr(in_tuple.convert(pair(Row(1)))) == "pair(left=<Row(1, None)>)"
    old, new = (Types.MAP(Types.STRING(), row) for row in (OLD_ROW, NEW_ROW))
    converted = migrate(value_state(old), value_state(new)).convert(OrderedDict(k=Row(1)))
    assert type(converted) is OrderedDict
    assert converted == {"k": Row(1, None)}


def test_each_row_has_a_default_of_its_own() -> None:
    old = Types.ROW_NAMED(["a"], [Types.INT()])
    new = Types.ROW_NAMED(["a", "b"], [Types.INT(), Types.LIST(Types.INT())], {"b": []})
    convert = migrate(value_state(old), value_state(new)).convert
    first, second = convert(Row(a=1)), convert(Row(a=2))
    first["b"].append(7)
    assert (first, second) == (Row(a=1, b=[7]), Row(a=2, b=[]))
