"""ORC files, under PyFlink's name."""

from __future__ import annotations

from headgate import unsupported
from headgate.connectors.formats.orc_files import OrcBulkWriters

__all__ = ["OrcBulkWriters"]

unsupported.guard(__name__, globals())
