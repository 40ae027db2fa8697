"""Observes a session for the preflight: reads its conf, asks Spark for its task slots, waits for executors."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.config_kinds import SIZE_BYTES
from headgate.deploy.spark.preflight import SessionFacts, is_local

EXECUTORS_WAIT_S_MAX: Final = 4.0
EXECUTORS_START_S_MAX: Final = 30.0
"""How long after the start of a session executors may take: Spark's own default for the same."""
_POLL_S: Final = 0.1
_MB: Final = 2**20


def observe(spark: SparkSession) -> SessionFacts:
    """Return what can be known of a session at once."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return SessionFacts(spark_version=spark.version, connect=True)
    context = spark.sparkContext
    conf = dict(context.getConf().getAll())
    cores = conf.get("spark.executor.cores")
    return SessionFacts(
        spark_version=spark.version,
        connect=False,
        master=context.master or "",
        dynamic_allocation=_is_on(conf, "spark.dynamicAllocation.enabled"),
        speculation=_is_on(conf, "spark.speculation"),
        slots_total=slots_total(context),
        slots_busy=slots_busy(context),
        slots_per_executor=None if cores is None else int(cores) // int(conf.get("spark.task.cpus", "1")),
        executor_memory_mb=_size_mb(conf, "spark.executor.memory") or 1024,
        overhead_mb=_size_mb(conf, "spark.executor.memoryOverhead"),
        pyspark_memory_mb=_size_mb(conf, "spark.executor.pyspark.memory"),
    )


def await_slots(spark: SparkSession, facts: SessionFacts, needed: int) -> SessionFacts:
    """Wait for executors that are still to register, and for tasks that are about to end; return the facts then.

    Blocks no longer than `EXECUTORS_WAIT_S_MAX`, unless the session is so young that executors may still be starting;
    in local mode not for slots that will never be there.
    """
    context = spark.sparkContext
    due_s = time.monotonic() + EXECUTORS_WAIT_S_MAX
    age_s = time.time() - context.startTime / 1000
    started_s = time.monotonic() + EXECUTORS_START_S_MAX - age_s
    while facts.slots_free < needed:
        are_too_few = facts.slots_total < needed
        if are_too_few and is_local(facts.master):
            break
        if time.monotonic() >= (max(due_s, started_s) if are_too_few else due_s):
            break
        time.sleep(_POLL_S)
        facts = replace(facts, slots_total=slots_total(context), slots_busy=slots_busy(context))
    return facts


def slots_total(context: SparkContext) -> int:
    """Return how many tasks can run at one time, as Spark itself counts them for barrier stages."""
    scala: Any = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def slots_free(context: SparkContext) -> int:
    """Return how many more tasks could start now."""
    return slots_total(context) - slots_busy(context)


def slots_busy(context: SparkContext) -> int:
    """Return how many tasks run now. Asks the scheduler itself: the status tracker may be seconds behind it."""
    scala: Any = context._jsc.sc()
    counts = scala.taskScheduler().runningTasksByExecutors().values().iterator()
    busy = 0
    while counts.hasNext():
        busy += int(counts.next())
    return busy


def _is_on(conf: dict[str, str], key: str) -> bool:
    return conf.get(key, "false").strip().lower() == "true"


def _size_mb(conf: dict[str, str], key: str) -> int | None:
    """Read a size; Spark takes a bare number as MB here."""
    value = conf.get(key)
    if value is None:
        return None
    return int(value) if value.isdigit() else SIZE_BYTES.parse(value) // _MB
