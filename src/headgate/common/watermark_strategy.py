"""Watermark strategies, under PyFlink's names. Generators of one's own, which PyFlink lacks, are as in Java."""

from headgate import unsupported
from headgate.functions.watermarks import TimestampAssigner, WatermarkGenerator, WatermarkOutput, WatermarkStrategy

__all__ = ["TimestampAssigner", "WatermarkGenerator", "WatermarkOutput", "WatermarkStrategy"]

unsupported.guard(__name__, globals())
