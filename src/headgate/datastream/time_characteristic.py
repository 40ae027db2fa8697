"""TimeCharacteristic, where older programs import it from."""

from headgate.datastream.legacy import TimeCharacteristic

__all__ = ["TimeCharacteristic"]
