"""Missing names of modules and classes, and values, are refused; `hasattr` and guarded imports still work."""

import importlib
import types

import pytest

from headgate import unsupported
from headgate.errors import UnsupportedAttributeError, UnsupportedError
from headgate.functions.checkpointed import FunctionInitializationContext, FunctionSnapshotContext
from headgate.unsupported.table import FEATURES


def _guarded(name: str, **namespace: object) -> types.ModuleType:
    module = types.ModuleType(name)
    module.__dict__.update(namespace)
    unsupported.guard(name, module.__dict__)
    return module


def test_a_member_that_is_missing_says_so_on_the_class_and_on_its_objects() -> None:
    class TypeInformation:
        def is_basic_type(self) -> str:
            return "works"

    class Mine(TypeInformation):
        pass

    module = _guarded("headgate.common.typeinfo", TypeInformation=TypeInformation, Mine=Mine)
    for holder in (TypeInformation, TypeInformation(), Mine(), module.Mine):
        with pytest.raises(UnsupportedAttributeError, match=r"Information.get_java_type_info is not supported"):
            _ = getattr(holder, "get_java_type_info")  # noqa: B009
        assert not hasattr(holder, "other")
    assert TypeInformation().is_basic_type() == "works"


def test_a_member_that_a_class_has_is_left_alone() -> None:
    class DataStream:
        def connect(self) -> str:
            return "built meanwhile"

    _guarded("headgate.datastream.data_stream", DataStream=DataStream)
    assert DataStream().connect() == "built meanwhile"


def test_a_user_class_may_define_what_the_base_class_refuses() -> None:
    class KeyedProcessFunction:
        pass

    _guarded("headgate.datastream.functions", KeyedProcessFunction=KeyedProcessFunction)

    class Mine(KeyedProcessFunction):
        def on_timer(self) -> str:
            return "mine"

    assert Mine().on_timer() == "mine"


def test_classes_defined_elsewhere_refuse_their_members_without_the_module_of_that_name() -> None:
    class TypeInformation:
        pass

    unsupported.guard_members("common.typeinfo", {"TypeInformation": TypeInformation})
    with pytest.raises(UnsupportedError, match="get_java_type_info is not supported"):
        _ = TypeInformation().get_java_type_info  # type: ignore[attr-defined]


def test_a_name_of_a_module_is_refused_and_any_other_missing_name_is_an_ordinary_attribute_error() -> None:
    module = _guarded("headgate.datastream.connectors")
    with pytest.raises(UnsupportedAttributeError, match=r"pulsar is not supported yet.*: read with Spark"):
        _ = module.pulsar
    assert not hasattr(module, "WindowFunction")
    with pytest.raises(AttributeError, match="has no attribute 'Typo'") as caught:
        _ = module.Typo
    assert not isinstance(caught.value, UnsupportedError)


def test_what_is_not_planned_is_called_so() -> None:
    module = _guarded("headgate.datastream.functions")
    with pytest.raises(UnsupportedError, match="not supported, and not planned"):
        _ = module.JavaFunctionWrapper


def test_a_guarded_import_of_something_missing_goes_on() -> None:
    with pytest.raises(ImportError) as caught:
        importlib.import_module("headgate.table.udf")
    assert caught.value.name == "headgate.table.udf"


def test_a_module_that_is_just_a_typo_is_an_ordinary_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"headgate\.tabel"):
        __import__("headgate.tabel")


@pytest.mark.parametrize("name", [*unsupported.VALUES, *unsupported.OPTIONS])
def test_refused_values_name_themselves_and_say_what_to_use_instead(name: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        unsupported.refuse(name)
    feature = unsupported.VALUES.get(name) or unsupported.OPTIONS[name]
    assert str(caught.value).startswith(f"{name} is not supported")
    assert feature.instead in str(caught.value)


def test_a_name_under_a_missing_module_or_class_is_missing_too() -> None:
    assert unsupported.find("table.Table.select") is unsupported.find("table.Table")
    assert unsupported.find("datastream.data_stream.DataStream.map") is None


def test_every_name_is_in_the_table_once() -> None:
    lines = [name for feature in FEATURES for name in unsupported.listed(feature.names)]
    assert sorted(lines) == sorted(set(lines))


def test_raw_state_is_refused_with_what_holds_bytes() -> None:
    with pytest.raises(UnsupportedError, match=r"Raw state\): keep bytes in a ListState"):
        _ = FunctionSnapshotContext.get_raw_operator_state_output  # type: ignore[attr-defined]
    with pytest.raises(UnsupportedError, match=r"Raw state\): keep bytes in a ListState"):
        _ = FunctionInitializationContext.get_raw_keyed_state_inputs  # type: ignore[attr-defined]


@pytest.mark.parametrize("module", ["cassandra", "elasticsearch", "kinesis", "pulsar", "rabbitmq"])
def test_a_connector_that_is_missing_advises_what_reads_and_what_writes_instead(module: str) -> None:
    with pytest.raises(UnsupportedError, match=r"env\.from_spark\(df\); write with SparkSink"):
        importlib.import_module(f"headgate.datastream.connectors.{module}")
