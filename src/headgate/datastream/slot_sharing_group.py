"""Slot sharing groups, with PyFlink's names. They change nothing: each slot runs a subtask of every operator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import total_ordering
from typing import final

from headgate import unsupported
from headgate.errors import ProgramError

__all__ = ["MemorySize", "SlotSharingGroup"]


@final
@total_ordering
@dataclass(frozen=True, slots=True)
class MemorySize:
    """A number of bytes.

    >>> str(MemorySize.of_mebi_bytes(64)), MemorySize(bytes_size=3000).get_kibi_bytes()
    ('64 mb', 2)
    """

    bytes_size: int

    @staticmethod
    def of_mebi_bytes(mebi_bytes: int) -> MemorySize:
        """Return the size of `mebi_bytes` times 1024 * 1024 bytes."""
        return MemorySize(mebi_bytes << 20)

    def get_bytes(self) -> int:
        """Return the number of bytes."""
        return self.bytes_size

    def get_kibi_bytes(self) -> int:
        """Return the number of whole kibibytes."""
        return self.bytes_size >> 10

    def get_mebi_bytes(self) -> int:
        """Return the number of whole mebibytes."""
        return self.bytes_size >> 20

    def get_gibi_bytes(self) -> int:
        """Return the number of whole gibibytes."""
        return self.bytes_size >> 30

    def get_tebi_bytes(self) -> int:
        """Return the number of whole tebibytes."""
        return self.bytes_size >> 40

    def __lt__(self, other: MemorySize) -> bool:
        return self.bytes_size < other.bytes_size

    def __str__(self) -> str:
        for unit, shift in (("tb", 40), ("gb", 30), ("mb", 20), ("kb", 10)):
            if self.bytes_size and not self.bytes_size % (1 << shift):
                return f"{self.bytes_size >> shift} {unit}"
        return f"{self.bytes_size} bytes"


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class SlotSharingGroup:
    """The name of a group, and the resources that Flink gives its slots. Made by `SlotSharingGroup.builder(name)`."""

    name: str
    cpu_cores: float | None = None
    task_heap_memory: MemorySize | None = None
    task_off_heap_memory: MemorySize | None = None
    managed_memory: MemorySize | None = None
    external_resources: dict[str, float] = field(default_factory=dict, hash=False)

    @staticmethod
    def builder(name: str) -> SlotSharingGroup.Builder:
        """Return a builder of the group with this name."""
        return SlotSharingGroup.Builder(name)

    def get_name(self) -> str:
        """Return the name of the group."""
        return self.name

    def get_cpu_cores(self) -> float | None:
        """Return the number of cores, None if it was not set."""
        return self.cpu_cores

    def get_task_heap_memory(self) -> MemorySize | None:
        """Return the heap memory, None if it was not set."""
        return self.task_heap_memory

    def get_task_off_heap_memory(self) -> MemorySize | None:
        """Return the memory off the heap, None if it was not set."""
        return self.task_off_heap_memory

    def get_managed_memory(self) -> MemorySize | None:
        """Return the managed memory, None if it was not set."""
        return self.managed_memory

    def get_external_resources(self) -> dict[str, float]:
        """Return the external resources, by name."""
        return dict(self.external_resources)

    @final
    class Builder:
        """Builds a group. Each setter changes the builder and returns it."""

        def __init__(self, name: str) -> None:
            self._group = SlotSharingGroup(name=name)

        def set_cpu_cores(self, cpu_cores: float) -> SlotSharingGroup.Builder:
            """Set the number of cores. Raises ProgramError unless it is more than 0."""
            if cpu_cores <= 0:
                raise ProgramError(f"a slot sharing group needs more than 0 cores, not {cpu_cores}")
            return self._with(cpu_cores=cpu_cores)

        def set_task_heap_memory(self, task_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the heap memory."""
            return self._with(task_heap_memory=task_heap_memory)

        def set_task_heap_memory_mb(self, task_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the heap memory, in MiB."""
            return self._with(task_heap_memory=MemorySize.of_mebi_bytes(task_heap_memory_mb))

        def set_task_off_heap_memory(self, task_off_heap_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the memory off the heap."""
            return self._with(task_off_heap_memory=task_off_heap_memory)

        def set_task_off_heap_memory_mb(self, task_off_heap_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the memory off the heap, in MiB."""
            return self._with(task_off_heap_memory=MemorySize.of_mebi_bytes(task_off_heap_memory_mb))

        def set_managed_memory(self, managed_memory: MemorySize) -> SlotSharingGroup.Builder:
            """Set the managed memory."""
            return self._with(managed_memory=managed_memory)

        def set_managed_memory_mb(self, managed_memory_mb: int) -> SlotSharingGroup.Builder:
            """Set the managed memory, in MiB."""
            return self._with(managed_memory=MemorySize.of_mebi_bytes(managed_memory_mb))

        def set_external_resource(self, name: str, value: float) -> SlotSharingGroup.Builder:
            """Set an external resource."""
            return self._with(external_resources={**self._group.external_resources, name: value})

        def build(self) -> SlotSharingGroup:
            """Return the group."""
            return self._group

        def _with(self, **changed: object) -> SlotSharingGroup.Builder:
            self._group = replace(self._group, **changed)  # type: ignore[arg-type]  # each by its own method
            return self


unsupported.guard(__name__, globals())
