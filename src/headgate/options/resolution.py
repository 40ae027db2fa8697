"""Resolves the settings of a job from its program, its command line and the Spark conf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from headgate import unsupported
from headgate.config import Option, Registry, Settings, SettingSource, from_command_line
from headgate.errors import ConfigError
from headgate.options import (
    backends,
    checkpoints,
    job,
    monitoring,
    network,
    records,
    recovery,
    restarts,
    slots,
    snapshots,
)
from headgate.options import code as code_options
from headgate.options.checkpoints import CHECKPOINT_MAX_CONCURRENT, CHECKPOINT_MODE, UNALIGNED
from headgate.options.restarts import BACKOFF_INITIAL, BACKOFF_JITTER, BACKOFF_MAX, BACKOFF_MULTIPLIER
from headgate.options.slots import HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT

_GROUPS: Final = (
    job,
    records,
    checkpoints,
    snapshots,
    recovery,
    backends,
    restarts,
    slots,
    network,
    code_options,
    monitoring,
)
GROUPS: Final[Mapping[str, tuple[Option[object], ...]]] = {
    group.__name__.rpartition(".")[2]: tuple(option for option in vars(group).values() if isinstance(option, Option))
    for group in _GROUPS
}
"""All options, by the module that declares them, whose name is their subject."""
REGISTRY: Final = Registry(option for options in GROUPS.values() for option in options)


def resolve(
    code: Mapping[str, Any] | None = None,
    arguments: Sequence[str] = (),
    spark_conf: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings of a job from the program's configuration, its command line and the Spark conf.

    Raises ConfigError naming key, value and source, or two keys that contradict each other; UnsupportedError for a key
    or value that headgate does not support.

    >>> from headgate.options import BATCH_RECORDS, PARALLELISM
    >>> settings = resolve({"headgate.batch.records": 100}, ["-Dheadgate.batch.records=50", "-Dparallelism.default=2"])
    >>> settings.get(BATCH_RECORDS), settings.get(PARALLELISM)
    (100, 2)
    """
    settings = REGISTRY.resolve(
        [
            (SettingSource.CODE, code or {}),
            (SettingSource.COMMAND_LINE, from_command_line(arguments)),
            (SettingSource.SPARK_CONF, REGISTRY.from_spark_conf(spark_conf or {})),
        ]
    )
    _check_heartbeat(settings.get(HEARTBEAT_INTERVAL), settings.get(HEARTBEAT_TIMEOUT))
    _check_backoff(settings)
    return _with_barriers(settings)


def _check_heartbeat(interval_ms: int, timeout_ms: int) -> None:
    if interval_ms >= timeout_ms:
        raise ConfigError(
            f"{HEARTBEAT_TIMEOUT.key} is {timeout_ms} ms, but must be above {HEARTBEAT_INTERVAL.key}, which is "
            f"{interval_ms} ms: every slot would be taken for lost"
        )


def _check_backoff(settings: Settings) -> None:
    initial_ms, max_ms = settings.get(BACKOFF_INITIAL), settings.get(BACKOFF_MAX)
    multiplier, jitter = settings.get(BACKOFF_MULTIPLIER), settings.get(BACKOFF_JITTER)
    if initial_ms > max_ms:
        raise ConfigError(
            f"{BACKOFF_INITIAL.key} is {initial_ms} ms, but must not be above {BACKOFF_MAX.key}, which is {max_ms} ms"
        )
    if not 1 < multiplier < float("inf"):
        raise ConfigError(f"{BACKOFF_MULTIPLIER.key} is {multiplier:g}, but must be a number above 1")
    if not 0 <= jitter <= 1:
        raise ConfigError(f"{BACKOFF_JITTER.key} is {jitter:g}, but must be from 0 to 1")


def _with_barriers(settings: Settings) -> Settings:
    """Return the settings; turn off unaligned checkpoints where they have no effect, with a warning, as Flink does."""
    if not settings.get(UNALIGNED):
        return settings
    mode, concurrent = settings.get(CHECKPOINT_MODE), settings.get(CHECKPOINT_MAX_CONCURRENT)
    if mode != "EXACTLY_ONCE":
        why = f"{CHECKPOINT_MODE.key} is {mode}, where no channel waits for barriers anyway"
        unsupported.ignored(f"{UNALIGNED.key}: true", why)
        return settings.with_value(UNALIGNED, False)
    if concurrent != 1:
        raise ConfigError(
            f"{UNALIGNED.key} is true, but {CHECKPOINT_MAX_CONCURRENT.key} is {concurrent}: barriers that overtake "
            "would overtake each other; set it to 1, or leave unaligned checkpoints off"
        )
    return settings
