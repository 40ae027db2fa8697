"""The built-in functions. `registry` explains how each is defined.

Importing a module of this package registers its functions, so all are imported here.
"""

from __future__ import annotations

from headgate.columns.functions import (
    arithmetic,
    arrays,
    collections,
    digits,
    encodings,
    formats,
    json_texts,
    logic,
    maps,
    mathematics,
    patterns,
    rounding,
    substrings,
    temporal,
    texts,
    times,
    urls,
    windows,
)

__all__ = [
    "arithmetic",
    "arrays",
    "collections",
    "digits",
    "encodings",
    "formats",
    "json_texts",
    "logic",
    "maps",
    "mathematics",
    "patterns",
    "rounding",
    "substrings",
    "temporal",
    "texts",
    "times",
    "urls",
    "windows",
]
