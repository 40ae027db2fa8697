"""What is refused before anything is submitted."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from headgate.datastream import StreamExecutionEnvironment
from headgate.deploy.spark.preflight import (
    SessionFacts,
    check_folders,
    check_machine,
    check_session,
    check_slots,
    check_storage,
    is_worth_waiting,
    slot_count,
    unfit,
    warnings,
)
from headgate.errors import EnvironmentFault, ProgramError

LOCAL = SessionFacts(spark_version="4.3.0", python=(3, 14), connect=False, master="local[4]", slots_total=4)
CLUSTER = SessionFacts(spark_version="4.0.1", python=(3, 13), connect=False, master="spark://one:7077", slots_total=4)
OWN = {
    "python": "3.11",
    "pyarrow": "21.0.0",
    "cloudpickle": "3.1.2",
    "headgate": "0.1.0",
    "host": "one",
    "pid": "1",
}


OLDEST = replace(CLUSTER, spark_version="3.5.2-amzn-1")
"""As a platform calls its own build."""


@pytest.mark.parametrize("facts", [LOCAL, CLUSTER, OLDEST])
def test_a_fitting_session_is_accepted(facts: SessionFacts) -> None:
    check_session(facts)
    check_slots(facts, 4)
    check_storage(facts, "/shared")


@pytest.mark.parametrize(
    ("facts", "setting"),
    [
        (replace(CLUSTER, connect=True), "classic SparkSession"),
        (replace(CLUSTER, spark_version="3.4.4"), "Spark 3.5 or newer, this is 3.4.4"),
        (replace(OLDEST, python=(3, 14)), r"on Python 3\.14: .* on Python 3\.13 or older, or on a newer Spark"),
        (replace(CLUSTER, dynamic_allocation=True), "spark.dynamicAllocation.enabled=false"),
        (replace(CLUSTER, speculation=True), "spark.speculation=false"),
        (replace(LOCAL, speculation=True), "spark.speculation=false"),
        (replace(LOCAL, kills_idle_workers=True), "spark.python.worker.killOnIdleTimeout=false"),
    ],
)
def test_the_setting_to_change_is_named(facts: SessionFacts, setting: str) -> None:
    with pytest.raises(EnvironmentFault, match=setting):
        check_session(facts)


def test_local_mode_has_no_dynamic_allocation_whatever_the_conf_says() -> None:
    check_session(replace(LOCAL, dynamic_allocation=True))


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (LOCAL, r"holds 5 task slots for its life, but Spark has 4: .*local\[6\]"),
        (replace(LOCAL, slots_total=8, slots_busy=4), "Spark has 8, of which 4 are busy"),
        (CLUSTER, "spark.executor.instances"),
    ],
)
def test_too_few_free_slots_are_refused(facts: SessionFacts, told: str) -> None:
    with pytest.raises(EnvironmentFault, match=told):
        check_slots(facts, 5)


@pytest.mark.parametrize("master", ["local-cluster[2,1,1024]", "spark://one:7077", "yarn", "k8s://https://one"])
def test_a_cluster_needs_storage_that_is_shared(master: str) -> None:
    with pytest.raises(EnvironmentFault, match=r"execution\.checkpointing\.dir"):
        check_storage(replace(CLUSTER, master=master), None)


@pytest.mark.parametrize("master", ["local", "local[2]", "local[*]"])
def test_local_mode_does_with_a_temporary_folder(master: str) -> None:
    check_storage(replace(LOCAL, master=master), None)


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (replace(CLUSTER, slots_per_executor=4), "spark.executor.memoryOverhead is 384 MB for up to 4 slots"),
        (replace(CLUSTER, slots_per_executor=4, executor_memory_mb=8192), "is 819 MB"),
        (replace(CLUSTER, slots_per_executor=2, overhead_mb=512), "is 512 MB.*set it to 1024 MB"),
        (replace(CLUSTER, slots_per_executor=2, pyspark_memory_mb=256), "spark.executor.pyspark.memory is 256 MB"),
    ],
)
def test_memory_that_does_not_fit_is_warned_of(facts: SessionFacts, told: str) -> None:
    (warning,) = warnings(facts)
    assert re.search(told, warning), warning


@pytest.mark.parametrize(
    "facts",
    [
        LOCAL,
        CLUSTER,
        replace(CLUSTER, slots_per_executor=2, overhead_mb=2048),
        replace(CLUSTER, slots_per_executor=2, pyspark_memory_mb=2048),
    ],
)
def test_memory_that_fits_or_is_not_known_is_not_warned_of(facts: SessionFacts) -> None:
    assert warnings(facts) == []


def test_a_slot_like_the_driver_is_fit() -> None:
    assert unfit(OWN, {**OWN, "host": "two", "pid": "7"}) is None


@pytest.mark.parametrize(
    ("slot", "told"),
    [
        ({**OWN, "python": "3.12"}, "python 3.12 instead of 3.11"),
        ({**OWN, "cloudpickle": "2.1.0"}, "cloudpickle 2.1.0 instead of 3.1.2"),
        ({**OWN, "pyarrow": "18.0.0", "headgate": "0.0.9"}, "pyarrow 18.0.0 instead of 21.0.0, headgate 0.0.9"),
        ({"python": "3.11", "headgate": "0.1.0", "host": "two"}, "host two runs pyarrow missing"),
    ],
)
def test_a_slot_with_other_versions_is_refused(slot: dict[str, str], told: str) -> None:
    reason = unfit(OWN, slot)
    assert reason is not None
    assert told in reason
    assert "PYSPARK_PYTHON" in reason


def test_two_streaming_sources_of_one_checkpoint_location_are_refused() -> None:
    check_folders(["s3://bucket/a/batches", "s3://bucket/b/batches"])
    with pytest.raises(ProgramError, match=r"have the checkpoint location s3://bucket/a: each needs its own"):
        check_folders(["s3://bucket/a/batches", "s3://bucket/b/batches", "s3://bucket/a/batches"])


def test_cores_that_are_needed_beside_the_slots_are_counted_and_told() -> None:
    check_slots(LOCAL, 3, 1)
    told = r"holds 3 task slots for its life, and Spark makes .* on 2 more, but Spark has 4: .*local\[5\]"
    with pytest.raises(EnvironmentFault, match=told):
        check_slots(LOCAL, 3, 2)


def test_a_cluster_that_gives_no_executor_is_told_and_what_may_be_too_large_for_it() -> None:
    told = r"no executor .* whether spark://\S+ has room for one \(spark\.executor\.memory.*slot\.request\.timeout"
    with pytest.raises(EnvironmentFault, match=told):
        check_slots(replace(CLUSTER, slots_total=0), 2)


@pytest.mark.parametrize(
    ("facts", "waited_s", "quiet_s", "waits"),
    [
        (CLUSTER, 0.0, 0.0, False),  # enough are free
        (replace(LOCAL, slots_total=3), 0.0, 0.0, False),  # no more will ever come
        (replace(LOCAL, slots_busy=1), 3.9, 900.0, True),
        (replace(LOCAL, slots_busy=1), 4.1, 900.0, False),
        (replace(CLUSTER, slots_total=3), 3.9, 900.0, True),
        (replace(CLUSTER, slots_total=3), 4.1, 900.0, False),
        (replace(CLUSTER, slots_total=3), 90.0, 29.0, True),  # another has registered not long ago
        (replace(CLUSTER, slots_total=3), 90.0, 31.0, False),
        (replace(CLUSTER, slots_total=0), 90.0, 119.0, True),  # the cluster has not begun to give any
        (replace(CLUSTER, slots_total=0), 90.0, 121.0, False),
    ],
)
def test_slots_are_waited_for_while_they_may_still_come(
    facts: SessionFacts, waited_s: float, quiet_s: float, waits: bool
) -> None:
    assert is_worth_waiting(facts, 4, waited_s, quiet_s, first_s=120.0) is waits


@pytest.mark.parametrize(
    ("cores", "memory_mb", "most"), [(2, 24_000, 64), (8, 2_048, 16), (1, 64_000, 32), (64, 512_000, 2_048)]
)
def test_an_embedded_session_hosts_no_more_slots_than_the_machine_can(cores: int, memory_mb: int, most: int) -> None:
    check_machine(most, cores, memory_mb)
    with pytest.raises(EnvironmentFault, match=rf"parallelism\.default.* to {most} or less") as caught:
        check_machine(most + 1, cores, memory_mb)
    assert f"{cores} cores" in str(caught.value)


@pytest.mark.parametrize(
    ("taken", "master", "embedded_max", "counted"),
    [
        (2, "spark://one:7077", None, (6, 8, "add executors or cores, wait for other work")),
        (2, "local[8]", None, (6, 8, "start the session with a larger master, wait for other work")),
        (2, "local[8]", 32, (6, 8, "start the program again at that parallelism")),
        (2, "local[8]", 7, (6, 7, "run the program on a cluster")),
        (0, "local[8]", 7, (7, 7, "run the program on a cluster")),
    ],
)
def test_the_slots_for_a_job_that_runs_are_those_of_the_session_and_for_an_embedded_one_of_the_machine(
    taken: int, master: str, embedded_max: int | None, counted: tuple[int, int, str]
) -> None:
    count = slot_count(8, taken, master, embedded_max)
    assert (count.now, count.in_all, count.more) == counted


def test_a_job_that_is_far_too_wide_is_refused_before_a_session_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headgate.deploy.spark.session._make", lambda slots, folder: pytest.fail("a session is made"))
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1_000)
    env.from_collection([1, 2, 3]).map(str).print()
    with pytest.raises(EnvironmentFault, match=r"1000 slots.*set_parallelism"):
        env.execute()
