"""Sources and sinks, with the module paths of `pyflink.datastream.connectors`."""

from __future__ import annotations

from headgate import unsupported

unsupported.guard(__name__, globals())
