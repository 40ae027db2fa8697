"""Slot sharing groups hold what they are given; sizes are compared and read in all units."""

from __future__ import annotations

import pytest

from headgate.datastream.slot_sharing_group import MemorySize, SlotSharingGroup
from headgate.errors import ProgramError


def test_a_size_is_read_in_all_units_and_compared() -> None:
    size = MemorySize.of_mebi_bytes(3 * 1024)
    assert (size.get_bytes(), size.get_kibi_bytes(), size.get_mebi_bytes()) == (3 << 30, 3 << 20, 3 << 10)
    assert (size.get_gibi_bytes(), size.get_tebi_bytes()) == (3, 0)
    assert size > MemorySize(bytes_size=1)
    assert size == MemorySize(3 << 30)
    texts = [str(MemorySize(each)) for each in (0, 5, 2048, 3 << 30, 1 << 40)]
    assert texts == ["0 bytes", "5 bytes", "2 kb", "3 gb", "1 tb"]


def test_a_group_has_what_its_builder_was_given() -> None:
    builder = SlotSharingGroup.builder("heavy").set_cpu_cores(1.5).set_task_heap_memory_mb(64)
    builder.set_task_off_heap_memory(MemorySize(5)).set_managed_memory_mb(8).set_external_resource("gpu", 1.0)
    group = builder.build()
    assert (group.get_name(), group.get_cpu_cores()) == ("heavy", 1.5)
    assert group.get_task_heap_memory() == MemorySize.of_mebi_bytes(64)
    assert group.get_task_off_heap_memory() == MemorySize(5)
    assert group.get_managed_memory() == MemorySize.of_mebi_bytes(8)
    assert group.get_external_resources() == {"gpu": 1.0}
    assert group != SlotSharingGroup.builder("heavy").build()
    with pytest.raises(ProgramError, match="more than 0 cores"):
        SlotSharingGroup.builder("none").set_cpu_cores(0)
