"""The compiled module: which path a job runs, and that it does what the Python path does, for any value."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate import native
from headgate.common import Configuration, Row
from headgate.datastream import StreamExecutionEnvironment
from headgate.functions.source import Records
from headgate.types.record_copies import BY_VALUE, Passing, passing_by_value

ROOT = Path(__file__).parents[2]
OFF = {"HEADGATE_NATIVE": "off"}


@pytest.fixture(scope="module")
def compiled() -> Passing:
    module = native.chosen("auto")
    if module is None:
        pytest.skip(native.describe())
    return passing_by_value(module)


def run(program: str, **environ: str) -> subprocess.CompletedProcess[str]:
    path = {"PYTHONPATH": str(ROOT / "src")}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=path | environ)


def test_a_process_may_be_kept_from_loading_the_module() -> None:
    done = run("from headgate import native; print(native.chosen('auto'), native.describe())", **OFF)
    assert done.stdout == "None Python (headgate._native is switched off by the environment variable HEADGATE_NATIVE)\n"


PROGRAM = """
from headgate.common import Configuration
from headgate.datastream import StreamExecutionEnvironment
conf = Configuration.from_dict({"headgate.native": "on", "headgate.deploy.target": "minicluster"})
env = StreamExecutionEnvironment.get_execution_environment(conf)
env.from_collection([1]).map(lambda number: [number]).print()
env.execute()
"""


def test_a_job_that_must_run_compiled_names_what_is_missing_before_it_starts() -> None:
    done = run(PROGRAM, **OFF)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("headgate.errors.EnvironmentFault: headgate.native is on, but headgate._native is switched")
    assert "C compiler" in last


def test_an_unknown_choice_is_refused() -> None:
    conf = Configuration.from_dict({"headgate.native": "fast"})
    env = StreamExecutionEnvironment.get_execution_environment(conf)
    env.from_collection([1]).print()
    with pytest.raises(Exception, match=r"headgate\.native.*auto, on, off"):
        env.execute()


@pytest.mark.parametrize("choice", ["auto", "off"])
def test_results_are_the_same_whichever_path_runs(choice: str) -> None:
    kept: list[Any] = []

    def noted(number: int) -> dict[str, list[int]]:
        kept.append({"numbers": [number]})
        return kept[-1]  # type: ignore[no-any-return]

    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict({"headgate.native": choice, "headgate.deploy.target": "minicluster"})
    ).set_parallelism(1)
    results = env.from_collection(list(range(5))).map(noted)
    with results.execute_and_collect() as found:
        assert list(found) == [{"numbers": [number]} for number in range(5)]


# --- values

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3) | st.binary()
KEYS = st.integers() | st.text(max_size=2) | st.tuples(st.integers(), st.text(max_size=1))


def containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    few = st.lists(inner, max_size=3)
    rows = few.map(lambda items: Row(*items))
    return few | few.map(tuple) | st.dictionaries(KEYS, inner, max_size=3) | rows | st.sets(KEYS, max_size=2)


VALUES = st.recursive(SCALARS, containers, max_leaves=12)
WAYS = st.sampled_from(["yielded", "listed", "tupled", "iterated", "mapped", "identity", "polled"])
HELD = st.sampled_from(["nothing", "the record", "a part", "a part twice"])


def parts(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple | set):
        yield from value
    elif isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, Row):
        yield from value._values


def emitted(passing: Passing, way: str, make: Callable[[], Any]) -> list[Any]:
    """Return what comes out of a function that emits one record."""
    out: list[Any] = []
    if way == "mapped":
        return passing.mapped(lambda _: make(), iter([0]))[0]
    if way == "identity":
        return passing.mapped(lambda record: record, iter([make()]))[0]
    if way == "polled":
        polled = Records([make()])
        return passing.owned(polled)[0]
    if way == "yielded":
        passing.extend(out, (make() for _ in range(1)))
    elif way == "iterated":
        passing.extend(out, dict.fromkeys([0], make()).values())
    else:
        passing.extend(out, [make()] if way == "listed" else (make(),))
    return out


def fresh(value: Any) -> Any:
    """Return a copy in which no container is shared."""
    if isinstance(value, list | tuple | set):
        return type(value)(fresh(each) for each in value)
    if isinstance(value, dict):
        return {key: fresh(each) for key, each in value.items()}
    return Row(*map(fresh, value._values)) if isinstance(value, Row) else value


def shared(passing: Passing, value: Any, way: str, held: str) -> tuple[Any, bool, list[bool]]:
    """Return the record that arrives, and whether it, and each of its parts, is the very object that was made."""
    kept: list[Any] = []
    known: list[int] = []

    def make() -> Any:
        record = fresh(value)
        inner = list(parts(record))
        known.append(id(record))
        known.extend(map(id, inner))
        if held == "the record":
            kept.append(record)
        elif held.startswith("a part") and inner:
            kept.append(inner[0])
            if held == "a part twice" and isinstance(record, list):
                record.append(inner[0])
        return record

    (record,) = emitted(passing, way, make)
    return record, id(record) == known[0], [id(part) in known[1:] for part in parts(record)]


@given(VALUES, WAYS, HELD)
def test_the_same_is_copied_as_in_python(compiled: Passing, value: Any, way: str, held: str) -> None:
    here = shared(compiled, value, way, held)
    assert here[0] == fresh(value) or held == "a part twice"
    there = shared(BY_VALUE, value, way, held)
    assert repr(here) == repr(there)


@given(st.lists(VALUES, max_size=5))
def test_records_that_cannot_change_are_told_apart(compiled: Passing, values: list[Any]) -> None:
    wanted = all(BY_VALUE.is_plain([value]) for value in values)
    assert compiled.is_plain(values) == wanted
    assert compiled.mapped(lambda value: value, iter(values)) == (values, wanted)
    assert compiled.owned(Records(values)) == (values, wanted)


class Broken:
    """Says how it is copied, and fails."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise ValueError("no copy")


def fails_after(count: int) -> Iterator[Any]:
    for number in range(count):
        yield [number]
    raise ValueError("no more")


def test_errors_are_those_of_the_python_path_and_what_came_before_stays(compiled: Passing) -> None:
    held = Broken()
    for passing in (compiled, BY_VALUE):
        out: list[Any] = []
        with pytest.raises(ValueError, match="no more"):
            passing.extend(out, fails_after(2))
        assert out == [[0], [1]]
        with pytest.raises(TypeError, match="Broken cannot be copied"):
            passing.extend(out, [[2], held])
        assert out == [[0], [1], [2]]
        with pytest.raises(TypeError, match="'int' object is not iterable"):
            passing.extend(out, 5)  # type: ignore[arg-type]
        position = iter([1, 2, 0, 3])
        with pytest.raises(ZeroDivisionError):
            passing.mapped(lambda number: 1 / number, position)
        assert list(position) == [3], "the iterator tells which record failed"


def test_wrong_arguments_are_refused(compiled: Passing) -> None:
    with pytest.raises(TypeError, match="no iterator"):
        compiled.mapped(str, [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="a list, not to tuple"):
        compiled.extend((), [1])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="takes 2 arguments"):
        compiled.extend([])  # type: ignore[call-arg]
    with pytest.raises(AttributeError, match="records"):
        compiled.owned(5)  # type: ignore[arg-type]


def test_dealing_refuses_what_does_not_fit() -> None:
    module = native.chosen("auto")
    if module is None:
        pytest.skip(native.describe())
    for keys, records, times, wrong in (
        (["a", "a"], [1], None, "more keys"),
        (["a"], [1, 2], None, "fewer keys"),
        (["a", "a"], [1, 2], [5], "more keys"),
        (["b"], [1], None, "channel 2 of 2"),
        (["c"], [1], None, "'c'"),
    ):
        with pytest.raises((ValueError, IndexError, KeyError), match=wrong):
            module.deal({"a": 1, "b": 2}, iter(keys), records, times, 2)
    assert module.deal({"a": 99}, iter("aa"), [1, 2], [3, 4], 100) == [(99, [1, 2], [3, 4], ["a", "a"])]
    with pytest.raises(TypeError, match="takes a dict"):
        module.deal([], iter("a"), [1], None, 2)


def test_a_copy_that_shrinks_the_list_of_results_ends_it(compiled: Passing) -> None:
    results: list[Any] = []

    class Shrinks:
        def __reduce_ex__(self, protocol: Any) -> Any:
            results.clear()
            return str, ("copied",)

    results += [Shrinks(), [1], [2]]
    out: list[Any] = []
    compiled.extend(out, results)
    assert out == ["copied"]


def test_deep_and_cyclic_records_are_left_to_python(compiled: Passing) -> None:
    held: Any = []
    for _ in range(200):
        held = [held]
    (one,) = emitted(compiled, "listed", lambda: held)
    assert one == held
    assert one is not held
    known: list[int] = []

    def made() -> Any:
        record: Any = {"a": [1]}
        for _ in range(5_000):
            record = [record]
        known.append(id(record))
        return record

    assert [id(each) for each in emitted(compiled, "yielded", made)] == known

    def cyclic() -> Any:
        record: list[Any] = [1]
        record.append(record)
        return record

    (found,) = emitted(compiled, "yielded", cyclic)
    assert found[1] is found


@pytest.mark.slow
def test_no_reference_and_no_object_is_left_behind(compiled: Passing) -> None:
    held = {"a": [1]}
    shape = [(1, "a"), {"a": [1, (2, [3])]}, held, Row(1, [2])]

    def all_ways() -> None:
        for way in ("yielded", "listed", "tupled", "iterated", "mapped", "identity", "polled"):
            for value in shape:
                emitted(compiled, way, partial(fresh, value))
                emitted(compiled, way, [value].pop)
        with pytest.raises(ZeroDivisionError):
            compiled.mapped(lambda number: 1 / number, iter([0]))

    all_ways()
    gc.collect()
    before = len(gc.get_objects()), sys.getrefcount(held), sys.getrefcount(None)
    for _ in range(500):
        all_ways()
    gc.collect()
    after = len(gc.get_objects()), sys.getrefcount(held), sys.getrefcount(None)
    assert all(abs(now - then) < 50 for now, then in zip(after, before, strict=True)), (before, after)


@pytest.mark.slow
def test_without_a_compiler_the_package_installs_and_runs(tmp_path: Path) -> None:
    """As `pip install .` where there is no compiler, and the module's absence is told."""
    wheels, there = tmp_path / "wheels", tmp_path / "there"
    sources = tmp_path / "sources"
    shutil.copytree(ROOT, sources, ignore=shutil.ignore_patterns(".*", "build", "tests", "docs", "bench", "*.so"))
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    wheel = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", str(wheels), str(sources)]
    subprocess.run(wheel, check=True, capture_output=True, env=os.environ | {"CC": "/nowhere/cc"})
    (found,) = wheels.iterdir()
    subprocess.run([*pip, "install", "--no-deps", "--target", str(there), str(found)], check=True, capture_output=True)
    done = subprocess.run(
        [sys.executable, "-c", "from headgate import native; print(native.describe()); import headgate.datastream"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(there)},
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "not built: no C compiler was found" in done.stdout
