"""OutputTag, under PyFlink's module name."""

from headgate.types.output_tag import OutputTag

__all__ = ["OutputTag"]
