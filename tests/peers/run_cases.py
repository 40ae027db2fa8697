# ruff: noqa
# mypy: ignore-errors
"""Run the cases with one import root, and write what each has printed: `run_cases.py <root> <out.json>`.

Needs nothing but PyFlink, or headgate. Cases that end in a stream run together, many in one job, each under a prefix of
its own; if that job fails, one by one. Cases whose results are there already are left as they are.
"""

import importlib
import json
import os
import re
import sys
import tempfile
import threading

ROOT, OUT = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
for part in (
    "base",
    "values",
    "rows",
    "keys",
    "operators",
    "aggregations",
    "connected",
    "states",
    "timers",
    "windows",
    "collecting",
    "files",
):
    with open(os.path.join(HERE, "cases", f"{part}.py"), encoding="utf-8") as file:
        exec(compile(file.read(), part, "exec"))  # as this script's own, so that functions travel

MARK = "@@"
TOGETHER = 12
LONGEST = 160
SECONDS_AT_MOST = 90
AGAIN = {"error": "none yet: its group has no end"}
STDOUT = tempfile.NamedTemporaryFile(
    "ab"
)  # appended to by this process and by the JVM, which keeps what it starts with
os.dup2(STDOUT.fileno(), 1)


def environment(batch):
    configuration = importlib.import_module(f"{ROOT}.common").Configuration()
    if ROOT == "headgate":
        configuration.set_string("headgate.deploy.target", "minicluster")
    environments = importlib.import_module(f"{ROOT}.datastream").StreamExecutionEnvironment
    env = environments.get_execution_environment(configuration)
    env.set_parallelism(1)
    if batch:
        env.set_runtime_mode(datastream.RuntimeExecutionMode.BATCH)
    return env


def run_together(names):
    env = environment(CASES[names[0]].batch)
    for name in names:
        CASES[name].build(env).print(f"{MARK}{name}{MARK}")
    env.execute()


def run_alone(name):
    """Run one case; return the innermost error, None for none."""
    try:
        env = environment(CASES[name].batch)
        built = CASES[name].build(env)
        if isinstance(built, list):
            for value in built:
                print(f"{MARK}{name}{MARK}> {value!r}", flush=True)
        else:
            built.print(f"{MARK}{name}{MARK}")
            env.execute()
    except Exception as error:  # noqa: BLE001  # which is what is compared
        print(name, "failed:", str(error)[-2000:], file=sys.stderr)
        return innermost(error)
    return None


def innermost(error):
    """The line of the error that started it all, which PyFlink keeps in the text of a Java error."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = f"{type(error).__name__}: {error}".splitlines()
    python = [line for line in lines if re.match(r"[\w.]*(Error|Exception|KeyboardInterrupt)\b", line)]
    java = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return next(iter(python[1:][::-1] or java[::-1] or python))[:LONGEST]


def captured(work, *arguments):
    """Return what `work` returns, and the lines that reach standard output meanwhile, of this process and its JVM."""
    no_end = threading.Timer(SECONDS_AT_MOST, os._exit, [1])
    no_end.start()
    sys.stdout.flush()
    start = os.path.getsize(STDOUT.name)
    try:
        returned = work(*arguments)
    finally:
        no_end.cancel()
        sys.stdout.flush()
    with open(STDOUT.name, "rb") as file:
        file.seek(start)
        return returned, file.read().decode("utf-8", "replace").splitlines()


def taken(lines, results):
    for line in lines:
        if line.startswith(MARK):
            name, _, text = line[len(MARK) :].partition(f"{MARK}> ")
            results.setdefault(name, {"lines": []})["lines"].append(text)


def kept(results):
    for name, result in results.items():
        if CASES[name].sorts and "lines" in result:
            result["lines"].sort()
    with open(OUT, "w", encoding="utf-8") as file:
        json.dump({name: results[name] for name in sorted(results)}, file, indent=1, ensure_ascii=False)
        file.write("\n")


def groups(names):
    for batch in (False, True):
        same = [name for name in names if CASES[name].batch == batch]
        yield from (same[start : start + TOGETHER] for start in range(0, len(same), TOGETHER))


def main():
    """Run the cases whose results are not there yet: some end the process, or never end, and count as failed then."""
    results = {}
    if os.path.exists(OUT):
        with open(OUT, encoding="utf-8") as file:
            results = json.load(file)
    left = [name for name in CASES if results.get(name) in (None, AGAIN)]
    alone = [name for name in left if CASES[name].alone or name in results]
    for names in groups([name for name in left if name not in alone]):
        kept(results | dict.fromkeys(names, AGAIN))
        try:
            _, lines = captured(run_together, names)
        except Exception:  # noqa: BLE001  # one of them fails: which, is found out alone
            alone += names
        else:
            results |= {name: {"lines": []} for name in names}
            taken(lines, results)
            kept(results)
    for name in alone:
        kept(results | {name: {"error": "no end, or the end of the process"}})
        error, lines = captured(run_alone, name)
        results[name] = {"lines": []}
        taken(lines, results)
        if error is not None:
            results[name] = {"error": error}
        kept(results)


if __name__ == "__main__":
    main()
