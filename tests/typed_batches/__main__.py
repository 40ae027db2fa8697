"""Looks for bytes that a reader of typed batches should not survive: `python -m tests.typed_batches --minutes 60`.

Random batches go there and back. Their bytes are then damaged: bits are flipped, bytes changed, removed, copied and
inserted, and numbers set to edges. Both readers must find the same, or refuse the bytes; the compiled reader must
neither end the process nor keep memory. `make fuzz` runs this with the sanitisers of the compiler.
"""

from __future__ import annotations

import argparse
import gc
import pickle
import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from headgate import native
from headgate.errors import DamagedBatchError
from headgate.types import typed_batches
from tests.typed_batches.values import Values, shown
from tests.typed_batches.writer import encoded

DAMAGES: Final = 40
"""Damaged copies of each batch."""
EDGES: Final = (0, 1, 2, 4, 8, 13, 14, 16, 17, 18, 0x40, 0x7F, 0x80, 0xFE, 0xFF)
GROWTH_KB_MAX: Final = 64 * 1024


class Found(Exception):
    """The readers, or the writers, differ."""


def damaged(payload: bytes, chance: random.Random) -> bytes:
    """Return the bytes with a few changes."""
    out = bytearray(payload)
    for _ in range(chance.choice((1, 1, 1, 2, 3, 8))):
        at = chance.randrange(len(out)) if out else 0
        size = chance.choice((1, 1, 2, 4, 16))
        match chance.randrange(6):
            case 0 if out:
                out[at] ^= 1 << chance.randrange(8)
            case 1 if out:
                out[at] = chance.choice(EDGES)
            case 2:
                del out[at : at + size]
            case 3:
                out[at:at] = out[at : at + size]
            case 4:
                out[at:at] = chance.randbytes(size)
            case _:
                out[at : at + size] = chance.choice((b"\0", b"\xff", b"\x7f")) * size
    return bytes(out)


def outcome(read: Callable[[bytes], Any], payload: bytes) -> Any:
    """Return what a reader finds; None if it refuses the bytes."""
    try:
        return shown(read(payload))
    except DamagedBatchError:
        return None


def run(minutes: float, seed: int) -> Counter[str]:
    """Fuzz for some minutes. Raises Found for a difference."""
    compiled = native.chosen("on")
    assert compiled is not None
    codec = typed_batches.codec(compiled)
    assert codec is not None
    counts: Counter[str] = Counter()
    until = time.monotonic() + 60.0 * minutes
    warm_kb = 0
    while time.monotonic() < until:
        seed += 1
        chance = random.Random(seed)
        batch = Values(chance, others=chance.choice((0.0, 0.0, 0.01)), shared=chance.choice((0.0, 0.02, 0.2))).batch()
        payload = codec.encode(*batch)
        counts["batches"] += 1
        if payload != encoded(*batch):
            raise Found(f"seed {seed}: the writers differ")
        if payload is None:
            counts["left to pickle"] += 1
            continue
        wanted = shown(pickle.loads(pickle.dumps(batch, 5)))  # noqa: S301  # our own
        if not wanted == outcome(codec.decode, payload) == outcome(typed_batches.read, payload):
            raise Found(f"seed {seed}: a batch does not come back")
        for _ in range(DAMAGES):
            wrong = damaged(payload, chance)
            found = outcome(codec.decode, wrong)
            if found != outcome(typed_batches.read, wrong):
                raise Found(f"seed {seed}: the readers differ on {wrong.hex()}")
            counts["damaged"] += 1
            counts["refused"] += found is None
        if counts["batches"] == 2_000:
            gc.collect()
            warm_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts["seed of the last batch"] = seed
    counts["growth of memory in KB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - warm_kb if warm_kb else 0
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m tests.typed_batches", description="Fuzz the typed form of batches."
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0, help="the first batch is that of the next seed")
    parser.add_argument("--out", type=Path, metavar="FILE", help="where to write the result")
    options = parser.parse_args()
    began = time.monotonic()
    try:
        counts = run(options.minutes, options.seed)
    except Found as found:
        print(f"typed batches: {found}", file=sys.stderr)
        return 1
    maps = Path("/proc/self/maps")
    is_sanitized = maps.exists() and "libasan" in maps.read_text()
    lines = [f"{time.monotonic() - began:.0f} s, seeds from {options.seed}, "]
    lines[0] += "with AddressSanitizer and UndefinedBehaviorSanitizer" if is_sanitized else "without sanitisers"
    lines += [f"{name}: {count:,}" for name, count in counts.items()]
    text = "\n".join(lines) + "\n"
    print(text, end="")
    if options.out is not None:
        options.out.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
