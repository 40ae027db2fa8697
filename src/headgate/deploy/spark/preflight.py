"""Preflight: decides from facts about a session whether a job can run on it, before anything is submitted. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

from headgate.checkpoint.paths import split
from headgate.connectors.micro_batches.source import MicroBatchSource
from headgate.errors import EnvironmentFault, ProgramError
from headgate.graph.job_graph import JobGraph
from headgate.runtime.job_storage.sources import sources_of
from headgate.runtime.master.services import SlotCount

SPARK_MIN: Final = (3, 5)
PYTHON_MAX: Final = {"3.5": (3, 13)}
"""Newest Python by release of Spark, for releases whose pyspark pickles no function on a newer Python."""
OVERHEAD_PER_SLOT_MB_MIN: Final = 512
OVERHEAD_MB_MIN: Final = 384
SLOTS_PER_CORE_MAX: Final = 32
"""Largest number of slots per core in an embedded session: more slots only compete for the core."""
SLOT_MB_MIN: Final = 128
"""Memory of a slot without state: Python with Arrow loaded."""
OVERHEAD_FACTOR: Final = 0.1
COMPARED: Final = ("python", "pyarrow", "cloudpickle", "headgate")
"""Facts that must be equal in the driver and in every slot."""
SLOTS_WAIT_S_MAX: Final = 4.0
EXECUTORS_START_S_MAX: Final = 30.0
"""Seconds after the session's start or the last registration in which an executor may register. Spark's default."""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFacts:
    """Facts about a session. Sizes are None if the session's conf does not set them."""

    spark_version: str
    python: tuple[int, int]
    connect: bool
    master: str = ""
    dynamic_allocation: bool = False
    speculation: bool = False
    kills_idle_workers: bool = False
    slots_total: int = 0
    slots_busy: int = 0
    slots_per_executor: int | None = None
    executor_memory_mb: int = 1024
    overhead_mb: int | None = None
    pyspark_memory_mb: int | None = None

    @property
    def local(self) -> bool:
        """Whether driver and slots run on one machine, under one JVM."""
        return is_local(self.master)

    @property
    def slots_free(self) -> int:
        """Number of free task slots."""
        return max(0, self.slots_total - self.slots_busy)


def is_local(master: str) -> bool:
    """Return whether a master URL means local mode: one JVM, and Python workers as the only other processes."""
    return master == "local" or master.startswith("local[")


def check_version(version: str, python: tuple[int, int]) -> None:
    """Raise EnvironmentFault if this version of Spark is too old, for headgate or for this version of Python."""
    release = version.split(".")[:2]
    if tuple(map(int, release)) < SPARK_MIN:
        raise EnvironmentFault(
            f"headgate needs Spark {_dotted(SPARK_MIN)} or newer, this is {version}: run the program on a newer "
            "cluster, with the pyspark of its version"
        )
    newest = PYTHON_MAX.get(".".join(release), python)
    if python > newest:
        raise EnvironmentFault(
            f"Spark {version} runs no function on Python {_dotted(python)}: run the program and the workers on Python "
            f"{_dotted(newest)} or older, or on a newer Spark"
        )


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def check_batch_session(facts: SessionFacts) -> None:
    """Raise EnvironmentFault if no job can run on the session."""
    if facts.connect:
        raise EnvironmentFault(
            "this is a Spark Connect session, and a Connect client cannot host a job: pass a classic SparkSession, "
            'made with SparkSession.builder.master("spark://...") or by spark-submit'
        )
    check_version(facts.spark_version, facts.python)
    if facts.speculation:
        raise EnvironmentFault(
            "speculation is on, and neither the slots of a streaming job nor the sinks of a batch job must run twice: "
            "set spark.speculation=false"
        )


def check_session(facts: SessionFacts) -> None:
    """Raise EnvironmentFault if no streaming job can run on the session. The message names the setting to change."""
    check_batch_session(facts)
    if facts.dynamic_allocation and not facts.local:
        raise EnvironmentFault(
            "dynamic allocation is on, and Spark refuses barrier stages under it: set "
            "spark.dynamicAllocation.enabled=false and give the application a fixed number of executors"
        )
    if facts.kills_idle_workers:
        raise EnvironmentFault(
            "Spark would end the slots, as a slot sends it nothing: set spark.python.worker.killOnIdleTimeout=false"
        )


def machine_slots(cores: int, memory_mb: int) -> int:
    """Return the largest number of slots for one machine. Each slot is a Python process."""
    return min(SLOTS_PER_CORE_MAX * cores, memory_mb // SLOT_MB_MIN)


def check_machine(slots: int, cores: int, memory_mb: int) -> None:
    """Raise EnvironmentFault if one machine cannot host that many slots, each a Python process.

    For the embedded session only: it has as many task slots as the job needs, while other sessions limit the number.
    """
    most = machine_slots(cores, memory_mb)
    if slots > most:
        raise EnvironmentFault(
            f"the job asks for {slots} slots, each a Python process of {SLOT_MB_MIN} MB or more, and this machine has "
            f"{cores} cores and {memory_mb} MB: lower the parallelism (parallelism.default, or set_parallelism()) to "
            f"{most} or less, or pass the SparkSession of a cluster to get_execution_environment(spark=...)"
        )


def check_storage(facts: SessionFacts, location: str | None) -> None:
    """Raise EnvironmentFault if the job would use a temporary folder that other machines do not see."""
    if location is None and not facts.local:
        raise EnvironmentFault(
            f"the job has no storage that the driver and the workers of {facts.master} share: set "
            "execution.checkpointing.dir (or headgate.storage.dir) to a folder or URI that all of them reach, or, for "
            "small state, execution.checkpointing.storage: jobmanager"
        )


def micro_batches_of(job: JobGraph) -> list[MicroBatchSource]:
    """Return the sources of a job that read streaming DataFrames: Spark runs a query for each."""
    return [source for source in sources_of(job).values() if isinstance(source, MicroBatchSource)]


def cores_of_queries(job: JobGraph) -> int:
    """Return the cores that the streaming queries of a job need, in addition to the job's slots."""
    return sum(source.free_cores for source in micro_batches_of(job))


def check_folders(folders: list[str]) -> None:
    """Raise ProgramError if two streaming queries of a job have the same checkpoint location.

    Spark would let one query wait for the end of the other: for ever, because each waits for a checkpoint of the job.
    """
    twice = next((folder for folder in folders if folders.count(folder) > 1), None)
    if twice is not None:
        raise ProgramError(
            f"two streaming DataFrames of the job have the checkpoint location {split(twice)[0]}: each needs its own"
        )


def is_worth_waiting(facts: SessionFacts, needed: int, waited_s: float, quiet_s: float, first_s: float) -> bool:
    """Return whether to keep waiting for free slots or for executors that register.

    All times are in seconds. `waited_s`: since the job began to wait. `quiet_s`: since the session started or an
    executor registered. `first_s`: the largest `quiet_s` before the first executor, since a cluster may have to find
    room for the application and pull the image of a container.
    """
    if facts.slots_free >= needed or (facts.local and facts.slots_total < needed):
        return False
    if waited_s < SLOTS_WAIT_S_MAX:
        return True
    return facts.slots_total < needed and quiet_s < (EXECUTORS_START_S_MAX if facts.slots_total else first_s)


def check_slots(facts: SessionFacts, needed: int, query_cores: int = 0) -> None:
    """Raise EnvironmentFault if fewer than `needed + query_cores` task slots are free.

    The job holds `needed` slots for its life, and its streaming queries use `query_cores` slots.
    """
    if facts.slots_free >= needed + query_cores:
        return
    if facts.slots_total == 0:
        raise EnvironmentFault(
            f"no executor of the application has registered: the UI or log of the cluster shows whether {facts.master} "
            "has room for one (spark.executor.memory, spark.executor.cores) and can start it; if it only takes longer, "
            "raise slot.request.timeout"
        )
    busy = f", of which {facts.slots_busy} are busy" if facts.slots_busy else ""
    change = (
        f"start the session with master local[{needed + max(query_cores, 1)}] or more"
        if facts.local
        else "give the application more executors or cores (spark.executor.instances, spark.executor.cores, "
        "spark.cores.max; spark.task.cpus counts for each slot)"
    )
    sources = f", and Spark makes the micro-batches of its streaming sources on {query_cores} more"
    more = sources if query_cores else ""
    raise EnvironmentFault(
        f"the job holds {needed} task slots for its life{more}, but Spark has {facts.slots_total}{busy}: {change}, "
        "wait for the other work, or lower the parallelism"
    )


def slot_count(total: int, taken: int, master: str, embedded_max: int | None) -> SlotCount:
    """Return how many slots a running job can have, if the session has `total` and other work uses `taken`.

    `embedded_max` is the machine's limit if the session is the embedded session, else None.
    """
    if embedded_max is None:
        more = "start the session with a larger master" if is_local(master) else "add executors or cores"
        return SlotCount(now=total - taken, in_all=total, more=f"{more}, wait for other work")
    if embedded_max < total:
        limit, more = " that this machine can host", "run the program on a cluster"
    else:
        limit, more = " with which this process has started it", "start the program again at that parallelism"
    most = min(total, embedded_max)
    return SlotCount(now=min(most, total - taken), in_all=most, limit=limit, more=more)


def warnings(facts: SessionFacts) -> list[str]:
    """Return warnings about likely later failures, as sentences that name the setting."""
    if facts.local or facts.slots_per_executor is None:
        return []
    slots = facts.slots_per_executor
    if facts.pyspark_memory_mb is not None:
        found_mb, setting = facts.pyspark_memory_mb, "spark.executor.pyspark.memory"
    else:
        implied_mb = max(OVERHEAD_MB_MIN, int(facts.executor_memory_mb * OVERHEAD_FACTOR))
        found_mb, setting = facts.overhead_mb or implied_mb, "spark.executor.memoryOverhead"
    if found_mb >= slots * OVERHEAD_PER_SLOT_MB_MIN:
        return []
    return [
        f"{setting} is {found_mb} MB for up to {slots} slots in an executor; slots keep records and state outside "
        f"Spark's heap: set it to {slots * OVERHEAD_PER_SLOT_MB_MIN} MB or more, or the cluster may kill the executor"
    ]


def unfit(own: dict[str, str], slot: dict[str, str]) -> str | None:
    """Return the reason why a slot cannot run the job, None if it can.

    `own` are the facts about the driver's process, `slot` the facts about the slot's process.
    """
    different = [name for name in COMPARED if own[name] != slot.get(name)]
    if not different:
        return None
    found = ", ".join(f"{name} {slot.get(name, 'missing')} instead of {own[name]}" for name in different)
    return (
        f"the worker on host {slot.get('host', 'unknown')} runs {found}: install the same versions there as in the "
        "driver, ship the driver's environment (headgate pack), or set PYSPARK_PYTHON (or spark.pyspark.python) to a "
        "Python that has them"
    )
