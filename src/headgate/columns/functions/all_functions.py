"""The modules of all built-in functions, which register their functions when they are imported."""

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
    planning,
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
    "planning",
    "rounding",
    "substrings",
    "temporal",
    "texts",
    "times",
    "urls",
    "windows",
]
