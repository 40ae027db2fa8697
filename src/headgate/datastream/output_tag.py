"""OutputTag, under PyFlink's module name."""

from headgate import unsupported
from headgate.types.output_tag import OutputTag

__all__ = ["OutputTag"]


unsupported.guard(__name__, globals())
