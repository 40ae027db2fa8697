from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from typing import Any

import pytest

from headgate.common.configuration import Configuration
from headgate.connectors.number_seq import NumberSequenceSource
from headgate.datastream import CheckpointingMode, RuntimeExecutionMode, StreamExecutionEnvironment
from headgate.datastream.environment_options import EnvironmentOptions
from headgate.datastream.slot_sharing_group import SlotSharingGroup
from headgate.errors import ConfigError, IgnoredWarning, OrderWarning, ProgramError, UnsupportedError
from headgate.types.row import Row
from headgate.types.typeinfo import TypeInformation, Types
from tests.unit.datastream.environments import environment, numbers, plan_of


def test_settings_come_back_as_they_were_set() -> None:
    env = environment()
    env.set_parallelism(3).set_max_parallelism(64).set_buffer_timeout(0).enable_checkpointing(500)
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 64, 0)
    assert env.get_checkpoint_interval() == 500
    assert env.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert env.get_checkpoint_config().get_checkpoint_interval() == 500
    assert env.get_config().get_parallelism() == 3


def test_defaults_are_flinks() -> None:
    env = environment()
    assert (env.get_buffer_timeout(), env.get_max_parallelism(), env.is_chaining_enabled()) == (100, -1, True)
    assert env.get_checkpoint_interval() == -1


def test_the_program_wins_over_the_command_line(monkeypatch: pytest.MonkeyPatch) -> None:
    arguments = ["job.py", "-Dparallelism.default=4", "-Dpipeline.max-parallelism=32", "--input", "x"]
    monkeypatch.setattr("sys.argv", arguments)
    env = environment().set_parallelism(2)
    assert (env.get_parallelism(), env.get_max_parallelism()) == (2, 32)


def test_configure_takes_all_values_over_but_leaves_its_argument_alone() -> None:
    given = Configuration.from_dict({"headgate.deploy.target": "minicluster", "parallelism.default": "2"})
    env = StreamExecutionEnvironment.get_execution_environment(given)
    env.configure(Configuration.from_dict({"pipeline.max-parallelism": "8"}))
    env.set_parallelism(4)
    assert (env.get_parallelism(), env.get_max_parallelism()) == (4, 8)
    assert given.get_integer("parallelism.default", 0) == 2


def test_an_unknown_key_of_ours_is_an_error_with_the_nearest_one() -> None:
    with pytest.raises(ConfigError, match=r"did you mean headgate\.batch\.records"):
        environment(headgate__batch__record="5").get_parallelism()


def test_operators_get_the_parallelism_of_the_environment_but_for_collections() -> None:
    env = environment().set_parallelism(2).set_max_parallelism(16)
    numbers(env).map(str).print()
    assert [(node["parallelism"], node["max_parallelism"]) for node in plan_of(env)] == [(1, 16), (2, 16), (2, 16)]


def test_without_operators_there_is_nothing_to_execute() -> None:
    with pytest.raises(ProgramError, match="no streams to run"):
        environment().execute()


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_stream_without_a_sink_runs_with_a_warning(mode: str, capsys: pytest.CaptureFixture[str]) -> None:
    env = environment(**{"execution__runtime-mode": mode})
    numbers(env).map(lambda n: print("seen", n)).name("forgotten")
    with pytest.warns(IgnoredWarning, match="output of operator 'forgotten' goes nowhere"):
        env.execute()
    assert capsys.readouterr().out.splitlines() == ["seen 1", "seen 2", "seen 3"]


@pytest.mark.parametrize("mode", ["STREAMING", "BATCH"])
def test_a_stream_that_loses_the_order_of_its_source_runs_with_a_warning_where_order_is_not_by_time(mode: str) -> None:
    env = environment(**{"execution__runtime-mode": mode}).set_parallelism(2)
    source = env.from_source(NumberSequenceSource(1, 4), None, "numbers").set_parallelism(1)
    source.map(lambda n: n).name("same").key_by(lambda n: n % 2).sum().name("total").print()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", OrderWarning)
        env.execute()
    told = [str(each.message) for each in caught]
    if mode == "BATCH":
        assert told == []
    else:
        assert len(told) == 1
        assert told[0].startswith("operator 'same' has 2 subtasks, and source 'numbers' before it has 1: ")


def test_after_execution_the_next_program_begins_empty() -> None:
    env = environment()
    stream = numbers(env)
    stream.map(str).print()
    env.execute()
    stream.print()
    assert [node["type"] for node in plan_of(env)] == ["Source: Collection Source", "Sink: Print to Std. Out"]


def test_two_operators_of_one_uid_are_named() -> None:
    env = environment()
    numbers(env).uid("u").print().uid("u")
    with pytest.raises(ProgramError, match="uid 'u' is given to 2 operators, 'Collection Source' and 'Print to Std"):
        env.execute()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda e: e.set_parallelism(0), "the parallelism must be a whole number of at least 1, not 0"),
        (lambda e: e.set_max_parallelism(-1), "the max parallelism must be"),
        (lambda e: e.set_buffer_timeout(-1), "the buffer timeout must be"),
        (lambda e: e.set_runtime_mode("BATCH"), r"takes a RuntimeExecutionMode, .*not 'BATCH'"),
        (lambda e: e.enable_checkpointing(0), "the interval of checkpoints in milliseconds must be"),
        (lambda e: e.from_collection("abc"), r"from_collection\(\) takes a list .*, not 'abc'"),
        (lambda e: e.from_collection(5), r"from_collection\(\) takes a list .*, not 5"),
        (lambda e: e.from_source([1], None, "s"), r"for a list use from_collection\(...\)"),
        (lambda e: e.from_source(NumberSequenceSource, None, "s"), "given the class NumberSequenceSource itself"),
        (
            lambda e: e.from_source(NumberSequenceSource(1, 2), "s", "s"),
            "takes a WatermarkStrategy, such as .* not 's'",
        ),
        (lambda e: e.from_source(NumberSequenceSource(1, 2), None, ""), "the name of a source must be text"),
    ],
)
def test_a_wrong_argument_says_what_to_pass_instead(
    wrong: Callable[[StreamExecutionEnvironment], object], message: str
) -> None:
    with pytest.raises(ProgramError, match=message):
        wrong(environment())


def test_the_mode_and_the_folder_for_savepoints_are_settings_of_the_environment() -> None:
    env = environment().enable_checkpointing(100, CheckpointingMode.AT_LEAST_ONCE)
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert env.get_default_savepoint_directory() is None
    assert env.set_default_savepoint_directory("file:///y").get_default_savepoint_directory() == "file:///y"
    env = environment()
    env.get_checkpoint_config().enable_unaligned_checkpoints()
    assert env.is_unaligned_checkpoints_enabled()
    assert not env.is_force_unaligned_checkpoints()


@pytest.mark.parametrize(
    "change",
    [
        lambda env: env.add_jars("file:///connector.jar"),
        lambda env: env.add_classpaths("file:///classes"),
        lambda env: env.register_slot_sharing_group(SlotSharingGroup.builder("heavy").build()),
        lambda env: numbers(env).map(str).slot_sharing_group("heavy"),
        lambda env: numbers(env).print().slot_sharing_group("heavy"),
        lambda env: numbers(env).cache().invalidate(),
    ],
)
def test_what_only_flinks_cluster_has_a_use_for_is_accepted_with_a_warning(change: Any) -> None:
    with pytest.warns(IgnoredWarning, match="changes nothing here"):
        change(environment())


def test_a_parallelism_for_all_jobs_in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EnvironmentOptions, "_local_parallelism", None)
    env = environment()
    assert env.get_default_local_parallelism() == os.cpu_count()
    env.set_default_local_parallelism(3)
    assert environment().get_default_local_parallelism() == environment().get_parallelism() == 3
    assert environment().set_parallelism(2).get_parallelism() == 2


def test_what_is_not_supported_is_refused_at_the_call() -> None:
    with pytest.raises(UnsupportedError, match="AccumulateType is not supported"):
        numbers(environment()).key_by(str).AccumulateType  # type: ignore[attr-defined]  # noqa: B018 - reading it is the test


NAMED = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
PAIR = Types.TUPLE([Types.INT(), Types.DOUBLE()])


@pytest.mark.parametrize(
    ("record_type", "given", "expected"),
    [
        (NAMED, (1, "a"), Row(id=1, name="a")),
        (NAMED, [1, "a"], Row(id=1, name="a")),
        (NAMED, Row(1, "a"), Row(id=1, name="a")),
        (NAMED, Row(name="a", id=1), Row(id=1, name="a")),
        (NAMED, {"name": "a", "id": 1}, Row(id=1, name="a")),
        (NAMED, (None, "a"), Row(id=None, name="a")),
        (Types.ROW([Types.INT()]), (1,), Row(f0=1)),
        (PAIR, [1, 2], (1, 2.0)),
        (Types.STRING(), "a", "a"),
        (Types.BOOLEAN(), True, True),
        (Types.PICKLED_BYTE_ARRAY(), object, object),
    ],
)
def test_records_of_a_collection_are_converted_to_the_declared_type(
    record_type: TypeInformation, given: object, expected: object
) -> None:
    with environment().from_collection([given], record_type).execute_and_collect() as records:
        assert list(records) == [expected]


@pytest.mark.parametrize(
    ("record_type", "wrong", "reason"),
    [
        (NAMED, (1,), "it has 1 fields, not 2"),
        (NAMED, ("x", "a"), "'x' is of type str, not a number"),
        (NAMED, 5, "5 is of type int, not a Row"),
        (Types.INT(), 2**31, "the number is out of range"),
        (Types.STRING(), b"a", "b'a' is of type bytes, not a str"),
    ],
)
def test_a_record_that_does_not_fit_the_declared_type_is_named(
    record_type: TypeInformation, wrong: object, reason: str
) -> None:
    with pytest.raises(ProgramError) as caught:
        environment().from_collection([None, wrong], record_type)
    assert str(caught.value).startswith(f"record 1 of from_collection() is {wrong!r}, which does not fit")
    assert str(caught.value).endswith(reason)
