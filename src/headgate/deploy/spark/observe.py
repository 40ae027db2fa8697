"""Reads the facts about a session for the preflight: its conf and task slots. Waits for executors."""

from __future__ import annotations

import logging
import sys
import time
from dataclasses import replace
from typing import Any, Final

from pyspark import SparkContext
from pyspark.sql import SparkSession

from headgate.config_kinds import SIZE_BYTES
from headgate.deploy.spark.preflight import SLOTS_WAIT_S_MAX, SessionFacts, is_worth_waiting

_log = logging.getLogger(__name__)

_POLL_S: Final = 0.1
_MB: Final = 2**20


def observe(spark: SparkSession) -> SessionFacts:
    """Return the current facts about a session. Asks the JVM."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        return SessionFacts(spark_version=spark.version, python=sys.version_info[:2], connect=True)
    context = spark.sparkContext
    conf = dict(context.getConf().getAll())
    cores = conf.get("spark.executor.cores")
    return SessionFacts(
        spark_version=spark.version,
        python=sys.version_info[:2],
        connect=False,
        master=context.master or "",
        dynamic_allocation=_is_on(conf, "spark.dynamicAllocation.enabled"),
        speculation=_is_on(conf, "spark.speculation"),
        kills_idle_workers=_is_on(conf, "spark.python.worker.killOnIdleTimeout")
        and _is_positive(conf.get("spark.python.worker.idleTimeoutSeconds", "0")),
        slots_total=slots_total(context),
        slots_busy=slots_busy(context),
        slots_per_executor=None if cores is None else int(cores) // int(conf.get("spark.task.cpus", "1")),
        executor_memory_mb=_size_mb(conf, "spark.executor.memory") or 1024,
        overhead_mb=_size_mb(conf, "spark.executor.memoryOverhead"),
        pyspark_memory_mb=_size_mb(conf, "spark.executor.pyspark.memory"),
    )


def await_slots(spark: SparkSession, facts: SessionFacts, needed: int, first_s: float) -> SessionFacts:
    """Wait for executors that register and for tasks that end. Return the facts afterwards.

    Blocks for `SLOTS_WAIT_S_MAX` seconds at most. If executors are starting, it blocks until none has registered for
    `EXECUTORS_START_S_MAX` seconds; before the first executor, until the session is `first_s` seconds old.
    """
    context = spark.sparkContext
    asked_s = time.monotonic()
    came_s = asked_s - (time.time() - context.startTime / 1000)
    told = False
    while is_worth_waiting(facts, needed, (now_s := time.monotonic()) - asked_s, now_s - came_s, first_s):
        if not told and now_s - asked_s >= SLOTS_WAIT_S_MAX:
            _log.warning("waiting for executors: the job needs %d slots, Spark has %d", needed, facts.slots_total)
            told = True
        time.sleep(_POLL_S)
        known = facts.slots_total
        facts = replace(facts, slots_total=slots_total(context), slots_busy=slots_busy(context))
        if facts.slots_total > known:
            came_s = time.monotonic()
    return facts


def slots_total(context: SparkContext) -> int:
    """Return the number of tasks that can run at a time, as Spark counts them for barrier stages."""
    scala: Any = context._jsc.sc()
    return int(scala.maxNumConcurrentTasks(scala.resourceProfileManager().defaultResourceProfile()))


def slots_free(context: SparkContext) -> int:
    """Return the number of tasks that could start now."""
    return slots_total(context) - slots_busy(context)


def slots_taken(context: SparkContext, held: int, query_cores: int) -> int:
    """Return the task slots of other work: running tasks without the caller's `held` tasks, at least `query_cores`."""
    return max(slots_busy(context) - held, query_cores)


def slots_busy(context: SparkContext) -> int:
    """Return the number of running tasks. Asks the scheduler, because the status tracker may be seconds late."""
    scala: Any = context._jsc.sc()
    counts = scala.taskScheduler().runningTasksByExecutors().values().iterator()
    busy = 0
    while counts.hasNext():
        busy += int(counts.next())
    return busy


def _is_on(conf: dict[str, str], key: str) -> bool:
    return conf.get(key, "false").strip().lower() == "true"


def _is_positive(time: str) -> bool:
    """Return whether a time in Spark's notation, such as 60 or 1m, is above zero."""
    return any(digit in "123456789" for digit in time)


def _size_mb(conf: dict[str, str], key: str) -> int | None:
    """Return a size in MB. Spark reads a number without a unit as MB here."""
    value = conf.get(key)
    if value is None:
        return None
    return int(value) if value.isdigit() else SIZE_BYTES.parse(value) // _MB
