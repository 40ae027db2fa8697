"""When a part file ends and the next one begins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Final, final

from headgate.errors import ProgramError

PART_BYTES: Final = 128 << 20
_INTERVAL_MS: Final = 60_000


class RollingPolicy(ABC):
    """Decides when the next file begins, besides at each checkpoint. Called whenever records come for an open file.

    A file never stays open beyond a checkpoint, because object stores cannot truncate a file after a failure.
    """

    @abstractmethod
    def should_roll(self, size_bytes: int, open_ms: float, idle_ms: float) -> bool:
        """Return whether to close a file before the next write, by its size, its age, and its time without records."""

    @staticmethod
    def default_rolling_policy(
        part_size: int = PART_BYTES, rollover_interval: int = _INTERVAL_MS, inactivity_interval: int = _INTERVAL_MS
    ) -> DefaultRollingPolicy:
        """Return the policy to close a file by size in bytes, age, and time without records, both in milliseconds.

        >>> policy = RollingPolicy.default_rolling_policy(part_size=1 << 20)
        """
        return DefaultRollingPolicy(part_size, rollover_interval, inactivity_interval)

    @staticmethod
    def on_checkpoint_rolling_policy() -> OnCheckpointRollingPolicy:
        """Return the policy to begin a file at each checkpoint only."""
        return OnCheckpointRollingPolicy()


@final
@dataclass(frozen=True, slots=True)
class DefaultRollingPolicy(RollingPolicy):
    """Rolls by size, by age and by inactivity. Raises ProgramError for a limit that is not above 0."""

    part_size: int
    rollover_interval: int
    inactivity_interval: int

    def __post_init__(self) -> None:
        for name in ("part_size", "rollover_interval", "inactivity_interval"):
            if getattr(self, name) <= 0:
                raise ProgramError(f"a rolling policy needs a {name} above 0, not {getattr(self, name)}")

    def should_roll(self, size_bytes: int, open_ms: float, idle_ms: float) -> bool:
        return size_bytes >= self.part_size or open_ms >= self.rollover_interval or idle_ms >= self.inactivity_interval


@final
@dataclass(frozen=True, slots=True)
class OnCheckpointRollingPolicy(RollingPolicy):
    """Rolls at checkpoints only."""

    def should_roll(self, size_bytes: int, open_ms: float, idle_ms: float) -> bool:
        return False
