"""The programs of the documentation that run on Spark, on the one that is installed: `python -m tests.docs.on_spark`.

For a Spark that the tests themselves do not run on: it needs no pytest. Ends with 1 if a program fails, or prints
something else than its page says.
"""

from __future__ import annotations

import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from tests.docs.blocks import Block, all_blocks, run_apart


def agrees(block: Block) -> bool:
    """Run a program; return whether it prints what its page says, if that says anything."""
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "program.py"
        program.write_text(block.code)
        try:
            printed = run_apart(program, cwd=Path(folder)).stdout
        except AssertionError as error:
            print(f"{block} fails: {error}", flush=True)
            return False
    if block.printed in (None, printed):
        return True
    print(f"{block} prints\n{printed}instead of\n{block.printed}", flush=True)
    return False


def main() -> int:
    """Run all programs, and tell how many did what their pages say."""
    installed = version("pyspark")
    major = int(installed.partition(".")[0])
    blocks = [block for block in all_blocks(on_spark=True) if block.spark <= major]
    good = [block for block in blocks if agrees(block)]
    print(f"Spark {installed}: {len(good)} of {len(blocks)} programs do what their pages say")
    return 0 if blocks and good == blocks else 1


if __name__ == "__main__":
    sys.exit(main())
