"""Watermark strategies, under PyFlink's names, and custom watermark generators, as in Flink for Java."""

from headgate import unsupported
from headgate.functions.watermarks import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkStrategy

__all__ = ["TimestampAssigner", "WatermarkGenerator", "WatermarkOutput", "WatermarkStrategy"]

unsupported.guard(__name__, globals())
