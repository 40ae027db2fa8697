"""Type information: equality, text, pickling and the stored description."""

import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import RestoreError
from headgate.types.typeinfo import BasicType, BasicTypeInfo, LocalTimeTypeInfo, TypeInformation, Types

_basic = st.sampled_from(
    [
        Types.STRING(), Types.BYTE(), Types.BOOLEAN(), Types.SHORT(), Types.INT(), Types.LONG(), Types.FLOAT(),
        Types.DOUBLE(), Types.CHAR(), Types.BIG_INT(), Types.BIG_DEC(), Types.INSTANT(), Types.SQL_DATE(),
        Types.SQL_TIME(), Types.SQL_TIMESTAMP(), Types.PICKLED_BYTE_ARRAY(),
        Types.PRIMITIVE_ARRAY(Types.BYTE()), Types.BASIC_ARRAY(Types.STRING()),
    ]
)  # fmt: skip


def _nest(inner: st.SearchStrategy[TypeInformation]) -> st.SearchStrategy[TypeInformation]:
    fields = st.lists(inner, max_size=3)
    return st.one_of(
        inner.map(Types.LIST),
        inner.map(Types.OBJECT_ARRAY),
        st.tuples(inner, inner).map(lambda pair: Types.MAP(*pair)),
        fields.map(Types.TUPLE),
        fields.map(Types.ROW),
        fields.map(lambda types: Types.ROW_NAMED([f"n{place}" for place in range(len(types))], types)),
    )


_types = st.recursive(_basic, _nest, max_leaves=6)


@given(_types)
def test_the_stored_description_gives_the_same_type_back(type_info: TypeInformation) -> None:
    assert TypeInformation.from_json(json.loads(json.dumps(type_info.to_json()))) == type_info


@given(_types)
def test_pickling_gives_an_equal_type_with_the_same_hash(type_info: TypeInformation) -> None:
    copy = pickle.loads(pickle.dumps(type_info))  # noqa: S301
    assert copy == type_info
    assert hash(copy) == hash(type_info)


@given(_types, _types)
def test_types_are_equal_exactly_when_their_descriptions_are(left: TypeInformation, right: TypeInformation) -> None:
    assert (left == right) == (left.to_json() == right.to_json())


def test_the_text_of_a_type_reads_like_its_schema() -> None:
    row = Types.ROW_NAMED(["id", "tags"], [Types.LONG(), Types.LIST(Types.STRING())])
    assert str(row) == "RowTypeInfo(id: Long, tags: ListTypeInfo<String>)"
    assert str(Types.TUPLE([Types.INT(), Types.SQL_DATE()])) == "TupleTypeInfo(Integer, Date)"
    assert str(Types.MAP(Types.STRING(), Types.DOUBLE())) == "MapTypeInfo<String, Double>"


def test_a_row_type_without_names_has_the_names_f0_f1() -> None:
    row = Types.ROW([Types.INT(), Types.STRING()])
    assert row.get_field_names() == ["f0", "f1"]
    assert row.get_field_index("f1") == 1
    assert row.get_field_types() == [Types.INT(), Types.STRING()]
    with pytest.raises(ValueError, match="no field 'x'"):
        row.get_field_index("x")


def test_a_type_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        Types.INT().basic_type = BasicType.LONG  # type: ignore[misc]


def test_wrong_declarations_name_the_mistake() -> None:
    with pytest.raises(TypeError, match=r"field 1 of Types.TUPLE must be a type such as Types.INT\(\)"):
        Types.TUPLE([Types.INT(), int])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="as many names as types"):
        Types.ROW_NAMED(["a"], [])
    with pytest.raises(ValueError, match="must differ"):
        Types.ROW_NAMED(["a", "a"], [Types.INT(), Types.INT()])
    with pytest.raises(TypeError, match="PRIMITIVE_ARRAY must hold one of"):
        Types.PRIMITIVE_ARRAY(Types.STRING())


def test_a_description_of_no_known_type_is_an_error_that_shows_it() -> None:
    with pytest.raises(RestoreError, match="MYSTERY"):
        TypeInformation.from_json({"type": "MYSTERY"})


def test_local_time_types_are_the_sql_time_types() -> None:
    assert LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_DATE) == Types.SQL_DATE()
    assert BasicTypeInfo.STRING_TYPE_INFO() == Types.STRING()


def test_defaults_of_fields_are_no_part_of_a_row_type() -> None:
    plain = Types.ROW_NAMED(["a"], [Types.LIST(Types.INT())])
    with_default = Types.ROW_NAMED(["a"], [Types.LIST(Types.INT())], {"a": []})
    assert (plain, hash(plain), plain.to_json()) == (with_default, hash(with_default), with_default.to_json())
    assert pickle.loads(pickle.dumps(with_default)).field_defaults == {"a": []}  # noqa: S301


def test_a_default_for_no_field_is_refused() -> None:
    with pytest.raises(ValueError, match=r"field_defaults has values for \['b'\], but the fields are \('a',\)"):
        Types.ROW_NAMED(["a"], [Types.INT()], {"b": 1})
