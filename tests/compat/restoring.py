"""Restoring a snapshot that is kept here, and what must come out of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, Final

from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
from tests.compat import program

GOLDEN: Final = Path(__file__).parent / "golden"
PARALLELISM: Final = program.PARALLELISM
LAST: Final = 2 * program.KEYS + 3
"""Numbers that the program had taken when its snapshots were made."""
COUNT: Final = LAST + 30


def restore(kept: Path, folder: Path, backend: str, parallelism: int) -> None:
    """Start the program from a copy of a snapshot, run it to its end, and check all that it was to find."""
    program.SEEN.clear()
    program.RESTORED.clear()
    program.LIMIT[0] = COUNT
    program.ENDS.set()
    before = shutil.copytree(kept, folder / "before")
    (metadata,) = before.rglob("_metadata")
    settings = {
        **program.SETTINGS,
        "state.backend.type": backend,
        "execution.checkpointing.incremental": "true",
        "execution.checkpointing.dir": str(folder / "after"),
        "execution.checkpointing.interval": "20 ms",
        "execution.state-recovery.path": str(metadata.parent),
    }
    env = StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(settings))
    program.build(env.set_parallelism(parallelism))
    job: Any = env.submit()
    outcome = job.wait(120.0)
    assert outcome.status.word == "finished", outcome.cause
    _check_end()
    if kept.name.endswith("-unaligned"):
        passed = [entry[1] for entry in program.SEEN if entry[0] == "passed"]
        assert len(range(LAST, COUNT)) < len(passed) == len(set(passed)) < COUNT
    else:
        _check_new(parallelism)
        _check_typed(LAST if "keys" in kept.parent.name else 0)


def _check_end() -> None:
    """Assert that the program has ended as it would have without a break."""
    assert sorted(_ordered(*entry[1:]) for entry in program.SEEN if entry[0] == "kept") == program.kept(COUNT)
    rules = {value: f"rule {value}" for value in range(3)}
    assert all(entry[2] == rules for entry in program.SEEN if entry[0] == "ruled")


def _check_new(parallelism: int) -> None:
    """Assert that the program went on where it was."""
    new = list(range(LAST, COUNT))
    for what in ("passed", "ruled"):
        assert sorted(entry[1] for entry in program.SEEN if entry[0] == what) == new
    assert program.RESTORED.keys() == set(range(parallelism))
    own, unions = zip(*program.RESTORED.values(), strict=True)
    assert sum(count for counts in own for count in counts) == LAST
    assert all(union == unions[0] for union in unions)
    assert sum(count for _, count in unions[0]) == LAST


def _check_typed(before: int) -> None:
    """Assert that keys of all types went on from their counts; `before` is how many numbers had been counted."""
    for _, value, key, count, in_map in (entry for entry in program.SEEN if entry[0] == "typed"):
        assert key == repr(program.typed_key_of(value))
        width = len(program.TYPED_KEYS)
        earlier = len(range(value % width, LAST, width)) if before else 0
        assert earlier < count == in_map <= len(range(value % width, COUNT, width))


def _ordered(key: str, timestamp: int, count: int, last: Any, values: list[int], *rest: Any) -> Any:
    """Return what was kept for a key as if its numbers had come in order, which is not so after two subtasks."""
    assert (last[0] in values, last[1]) == (True, {"of": key})
    return key, timestamp, count, sorted(values), *rest
