"""Settings of PyFlink's environment that have no effect here, and the parallelism of local jobs."""

from __future__ import annotations

import os
from typing import ClassVar, Final, Self

from headgate import unsupported
from headgate.datastream.checks import check_positive
from headgate.datastream.slot_sharing_group import SlotSharingGroup

_NO_JVM: Final = "records pass through no JVM; connectors are part of headgate"


class AcceptedSettings:
    """Methods of PyFlink's environment that only warn, and the default parallelism of local jobs."""

    _local_parallelism: ClassVar[int | None] = None

    def add_jars(self, *jars_path: str) -> None:
        """Change nothing, with a warning: records pass through no JVM, and the connectors are part of headgate."""
        unsupported.ignored(f"add_jars{jars_path}", _NO_JVM)

    def add_classpaths(self, *classpaths: str) -> None:
        """Change nothing, with a warning: records pass through no JVM, and the connectors are part of headgate."""
        unsupported.ignored(f"add_classpaths{classpaths}", _NO_JVM)

    def register_slot_sharing_group(self, slot_sharing_group: SlotSharingGroup) -> Self:
        """Change nothing, with a warning: each slot runs a subtask of every operator."""
        unsupported.ignored("register_slot_sharing_group()", "each slot runs a subtask of every operator")
        return self

    def get_default_local_parallelism(self) -> int:
        """Return the default parallelism of jobs in this process: the value that was set, else the number of cores."""
        return self._local_parallelism or os.cpu_count() or 1

    def set_default_local_parallelism(self, parallelism: int) -> None:
        """Set the default parallelism of jobs in this process, for all environments."""
        check_positive("the parallelism", parallelism)
        AcceptedSettings._local_parallelism = parallelism
