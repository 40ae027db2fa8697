"""What Spark calls the places that pyarrow knows under other names."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote, urlsplit

_SPARK_SCHEMES: Final = {"s3": "s3a", "gcs": "gs"}
"""Where Hadoop's name of a file system is not Arrow's."""
_PATTERN: Final = re.compile(r"[\\*?\[\]{}]")


def as_spark_says(place: str) -> str:
    """Return a local path, or a URI as pyarrow reads it, as a URI that Spark reads.

    What a URI says of the server, or of who asks, is left out: Spark has settings for it (`spark.hadoop.fs.s3a.*`).

    >>> as_spark_says("s3://key:secret@bucket/streams?region=eu-central-1"), as_spark_says("/data/streams")
    ('s3a://bucket/streams', 'file:///data/streams')
    """
    if place.startswith("file:"):
        return unquote(place)  # as Arrow does, unlike Hadoop
    if "://" not in place:
        return f"file://{place}"
    parts = urlsplit(place)
    scheme = _SPARK_SCHEMES.get(parts.scheme, parts.scheme)
    # The part before the @ is a user in a URI of S3, and a container in one of Azure.
    host = parts.netloc.rpartition("@")[2] if scheme == "s3a" else parts.netloc
    return f"{scheme}://{host}{unquote(parts.path)}"


def as_spark_reads(place: str) -> str:
    """Return the same for what reads: there Spark takes a path for a pattern, and this one stands for itself.

    >>> as_spark_reads("/data/runs[1]")
    'file:///data/runs\\\\[1\\\\]'
    """
    return _PATTERN.sub(r"\\\g<0>", as_spark_says(place))
