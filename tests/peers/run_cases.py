# ruff: noqa
# mypy: ignore-errors
"""Run the cases with one import root, and write what each has printed: `run_cases.py <root> <out.json>`.

Needs nothing but PyFlink, or headgate. Cases that end in a stream run together, many in one job, each under a prefix of
its own; if that job fails, one by one.
"""

import importlib
import json
import os
import sys
import tempfile

ROOT, OUT = sys.argv[1:3]
HERE = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(HERE, "cases.py"), encoding="utf-8") as file:
    exec(compile(file.read(), "cases.py", "exec"))  # as this script's own, so that functions travel

MARK = "@@"
TOGETHER = 25


def environment():
    configuration = importlib.import_module(f"{ROOT}.common").Configuration()
    if ROOT == "headgate":
        configuration.set_string("headgate.deploy.target", "minicluster")
    environments = importlib.import_module(f"{ROOT}.datastream").StreamExecutionEnvironment
    env = environments.get_execution_environment(configuration)
    env.set_parallelism(1)
    return env


def run_together(names):
    env = environment()
    for name in names:
        CASES[name].build(env).print(f"{MARK}{name}{MARK}")
    env.execute()


def run_alone(name):
    """Run one case; return the class of its error, None for none."""
    try:
        env = environment()
        built = CASES[name].build(env)
        if isinstance(built, list):
            for value in built:
                print(f"{MARK}{name}{MARK}> {value!r}", flush=True)
        else:
            built.print(f"{MARK}{name}{MARK}")
            env.execute()
    except Exception as error:  # noqa: BLE001  # which is what is compared
        return type(error).__name__
    return None


def captured(work, *arguments):
    """Return what `work` returns, and the lines that reach standard output meanwhile, of this process and its JVM."""
    sys.stdout.flush()
    saved = os.dup(1)
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            returned = work(*arguments)
        finally:
            sys.stdout.flush()
            os.dup2(saved, 1)
            os.close(saved)
        file.seek(0)
        return returned, file.read().decode("utf-8", "replace").splitlines()


def taken(lines, results):
    for line in lines:
        if line.startswith(MARK):
            name, _, text = line[len(MARK) :].partition(f"{MARK}> ")
            results.setdefault(name, {"lines": []})["lines"].append(text)


def main():
    results = {}
    together = [name for name, each in CASES.items() if not each.alone]
    alone = [name for name, each in CASES.items() if each.alone]
    for start in range(0, len(together), TOGETHER):
        names = together[start : start + TOGETHER]
        try:
            _, lines = captured(run_together, names)
        except Exception:  # noqa: BLE001  # one of them fails: which, is found out alone
            alone += names
        else:
            taken(lines, results)
        print("ran", start + len(names), flush=True)
    for name in alone:
        error, lines = captured(run_alone, name)
        taken(lines, results)
        if error is not None:
            results[name] = {"error": error}
        print("ran", name, flush=True)
    for name, result in results.items():
        if CASES[name].sorts and "lines" in result:
            result["lines"].sort()
    for name in CASES:
        results.setdefault(name, {"lines": []})
    with open(OUT, "w", encoding="utf-8") as file:
        json.dump({name: results[name] for name in sorted(results)}, file, indent=1, ensure_ascii=False)
        file.write("\n")


if __name__ == "__main__":
    main()
