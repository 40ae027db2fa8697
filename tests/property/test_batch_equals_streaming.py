"""The same program over the same bounded input emits the same in BATCH as in STREAMING, whatever the program."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from tests.property.program_functions import SEEN
from tests.property.random_programs import Known, Program, build, programs
from tests.sample_size import sample_size
from tests.unit.datastream.environments import environment


def run(program: Program, mode: str) -> tuple[dict[str, Known], dict[str, list[Any]]]:
    """Run the program; return what is known of its outputs, and what came out of each."""
    env = environment(
        **{
            "execution.runtime-mode": mode,
            "pipeline.auto-watermark-interval": "1 ms",
            "headgate.batch.records": str(program.batch_records),
        }
    )
    outputs = build(program, env)
    SEEN.clear()
    env.execute()
    return outputs, {name: SEEN[name] for name in outputs}


@pytest.mark.slow
@settings(max_examples=sample_size(100), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(programs())
def test_batch_puts_out_what_streaming_does(program: Program) -> None:
    outputs, batch = run(program, "BATCH")
    _, streaming = run(program, "STREAMING")
    for name, known in outputs.items():
        last_of_keys = list(dict(streaming[name]).items()) if known.rolling else streaming[name]
        assert Counter(batch[name]) == Counter(last_of_keys), name
