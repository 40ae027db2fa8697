"""Runs the benchmark: `python -m bench [--check] [--only a,b] [--quick] [--target spark] [--json FILE]`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.effort import FULL, QUICK
from bench.figures import Figure, as_json, load, machine, markdown, table
from bench.rows import ROWS, Bench, measure

OUT = Path(__file__).parent / "out" / "latest.json"


def arguments(given: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line; exits when it is wrong."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure headgate against the bare loop.")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a target is missed")
    parser.add_argument("--only", type=rows_of, default=frozenset(ROWS), metavar="a,b", help="rows to measure")
    parser.add_argument("--quick", action="store_true", help="short and less exact")
    parser.add_argument("--target", choices=("spark", "minicluster"), default="spark", help="where the jobs run")
    parser.add_argument("--json", type=Path, default=OUT, metavar="FILE", help="where the figures go as JSON")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="where to write the page with the figures")
    return parser.parse_args(given)


def rows_of(text: str) -> frozenset[str]:
    """Return the rows named in a list such as `a,b`."""
    rows = frozenset(text.split(","))
    if not rows <= set(ROWS):
        raise argparse.ArgumentTypeError(f"there are rows {', '.join(ROWS)}, not {', '.join(sorted(rows - set(ROWS)))}")
    return rows


def page(figures: Sequence[Figure], run: dict[str, Any]) -> str:
    """Return the page of the documentation that shows one run."""
    facts = "\n".join(f"- {name}: {value}" for name, value in run.items())
    text = (Path(__file__).parent / "page.md").read_text()
    return text.replace("{facts}", facts).replace("{table}", markdown(figures))


def main() -> int:
    options = arguments(sys.argv[1:])
    effort = QUICK if options.quick else FULL
    run = machine() | {"jobs_run_on": options.target, "quick": options.quick}
    bench = Bench(options.target, effort, lambda what: print(f"... {what}", file=sys.stderr, flush=True))
    figures = measure(bench, options.only)
    run["load_after"] = load()
    print(table(figures))
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(as_json(figures, run), indent=1) + "\n")
    if options.markdown is not None:
        options.markdown.write_text(page(figures, run))
    missed = [figure for figure in figures if figure.ok is False]
    if missed:
        print(f"{len(missed)} of the promised figures missed", file=sys.stderr)
    return 1 if missed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
