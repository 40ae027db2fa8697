"""Rows: construction, access, equality, pickling."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.types.keys import canonical_bytes
from headgate.types.row import Row, RowKind, make_row


def test_keyword_fields_keep_their_order_and_are_read_by_name_place_and_attribute() -> None:
    row = Row(name="Alice", age=11)
    assert repr(row) == "Row(name='Alice', age=11)"
    assert (row["name"], row[1], row.age) == ("Alice", 11, 11)
    assert list(row) == ["Alice", 11]
    assert len(row) == 2
    assert row.get_fields_by_names(["age", "name"]) == [11, "Alice"]
    assert Row("Alice", 11).get_fields_by_names(["age"]) == ["Alice", 11]


def test_in_asks_for_a_name_or_without_names_for_a_value() -> None:
    assert "name" in Row(name="Alice")
    assert "Alice" not in Row(name="Alice")
    assert "Alice" in Row("Alice", 11)


def test_a_kind_is_written_as_its_sign() -> None:
    assert [str(kind) for kind in RowKind] == ["+I", "-U", "+U", "-D"]


@given(st.permutations(["a", "b", "c"]), st.permutations(["a", "b", "c"]))
def test_the_order_of_named_fields_makes_no_difference_to_equality(one: list[str], other: list[str]) -> None:
    by_keywords = Row(**{name: name.upper() for name in one})
    by_names = make_row(tuple(name.upper() for name in other), tuple(other))
    assert by_keywords == by_names
    assert hash(by_keywords) == hash(by_names)
    by_names["a"] = "B"
    assert by_keywords != by_names


def test_as_a_key_a_row_of_keywords_has_its_names_sorted_and_one_of_names_does_not() -> None:
    """Both as ever: the bytes decide where the state of a key is."""
    in_order = canonical_bytes(Row(a=1, b=2))
    keywords = pickle.loads(pickle.dumps(Row(b=2, a=1)))  # noqa: S301  # pickled just now
    assert canonical_bytes(keywords) == in_order
    assert keywords[0] == 2
    assert canonical_bytes(make_row((2, 1), ("b", "a"))) != in_order


def test_positional_row_has_no_names() -> None:
    row = Row(1, "a")
    assert repr(row) == "<Row(1, 'a')>"
    assert row[0:2] == [1, "a"]
    with pytest.raises(TypeError, match="without field names"):
        row.as_dict()
    with pytest.raises(ValueError, match="no field 'x'"):
        row["x"]
    with pytest.raises(AttributeError):
        _ = row.x


def test_positional_and_keyword_values_together_are_refused() -> None:
    with pytest.raises(ValueError, match="not both"):
        Row(1, a=2)


def test_a_row_of_names_makes_rows_with_these_names() -> None:
    person = Row("name", "age")
    assert person("Bob", 12).as_dict() == {"name": "Bob", "age": 12}
    with pytest.raises(ValueError, match="names 2 fields"):
        person("Bob", 12, 3)


def test_as_dict_goes_into_nested_rows_only_when_asked() -> None:
    row = Row(key=1, value=[Row(a=2)], more={"x": Row(b=3)})
    assert row.as_dict()["value"] == [Row(a=2)]
    assert row.as_dict(recursive=True) == {"key": 1, "value": [{"a": 2}], "more": {"x": {"b": 3}}}


def test_values_are_set_by_place_and_name_also_on_a_row_made_from_columns() -> None:
    row = make_row((1, 2), ("a", "b"))
    row[0] = 10
    row["b"] = 20
    assert row == Row(a=10, b=20)
    with pytest.raises(ValueError, match="no field 'c'; its fields are a, b"):
        row["c"] = 1


def test_an_unknown_attribute_cannot_be_set() -> None:
    with pytest.raises(AttributeError):
        Row(a=1).b = 2  # type: ignore[attr-defined]


def test_rows_are_equal_when_values_names_and_kind_are() -> None:
    assert Row(a=1) == make_row((1,), ("a",))
    assert Row(a=1) != Row(b=1)
    assert Row(1) != Row(a=1)
    assert Row(1) != (1,)
    assert Row.of_kind(RowKind.DELETE, a=1) != Row(a=1)
    assert hash(Row(a=1)) == hash(make_row((1,), ("a",)))


def test_set_field_names_names_the_fields_in_order() -> None:
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    assert row.y == 2


@given(st.dictionaries(st.text(min_size=1), st.integers() | st.text() | st.none()), st.sampled_from(RowKind))
def test_pickling_keeps_values_names_and_kind(fields: dict[str, object], kind: RowKind) -> None:
    row = make_row(tuple(fields.values()), tuple(fields), kind)
    copy = pickle.loads(pickle.dumps(row))  # noqa: S301
    assert copy == row
    assert copy.get_row_kind() is kind


def test_a_field_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(AttributeError, match="no field 'custmer': it has customer, amount"):
        _ = Row(customer="ann", amount=1).custmer
    with pytest.raises(AttributeError, match="no field 'customer': its fields have no names"):
        _ = Row("ann", 1).customer


def test_fields_are_attributes_whatever_they_are_called_but_for_names_of_methods_which_are_read_by_item() -> None:
    row = make_row((1, 2, 3, 4), ("as_dict", "_fields", "two words", "a"))
    assert row.a == 4
    assert getattr(row, "two words") == 3
    assert row["as_dict"] == 1
    assert row["_fields"] == 2
    assert row.as_dict()["as_dict"] == 1


def test_the_first_of_two_fields_with_one_name_is_read() -> None:
    row = make_row((1, 2), ("a", "a"))
    assert (row.a, row["a"]) == (1, 1)


def test_rows_made_in_different_ways_are_equal_and_one_key() -> None:
    named = make_row((11, "Alice"), ("age", "name"))
    assert named == Row(age=11, name="Alice")
    assert hash(named) == hash(Row(age=11, name="Alice"))
    assert canonical_bytes(named) == canonical_bytes(Row(age=11, name="Alice"))
    assert isinstance(named, Row)


def test_a_row_is_read_by_the_names_that_it_was_given_last() -> None:
    row = make_row([1, 2], ("a", "b"))
    row.set_field_names(["b", "c"])
    assert (row.b, row.c) == (1, 2)
    with pytest.raises(AttributeError, match="no field 'a': it has b, c"):
        _ = row.a


def test_a_field_that_was_changed_is_read_as_it_is_now() -> None:
    row = pickle.loads(pickle.dumps(make_row((1, 2), ("a", "b"))))  # noqa: S301  # pickled just now
    row["b"] = 5
    assert (row.a, row.b) == (1, 5)
