"""The version of headgate, where PyFlink has its own."""

from typing import Final

__version__: Final = "0.1.0"
