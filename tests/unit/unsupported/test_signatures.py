"""Callables have PyFlink's parameters: names, order, defaults. Only optional parameters may follow them."""

from __future__ import annotations

import importlib
import inspect
import json
from inspect import Parameter
from pathlib import Path
from typing import Any

import pytest

from headgate.errors import UnsupportedError
from tests.fixtures.signatures import JAVA, as_text

SIGNATURES: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "pyflink_signatures.json").read_text()
)
WRAPS_JAVA = "PyFlink's constructor wraps an object of Java; ours is for subclasses"
OF_FILE_SINK = "StreamingFileSink is FileSink, whose parameter has a longer name"
APART = {
    "datastream.connectors.base.Sink": WRAPS_JAVA,
    "datastream.connectors.base.Source": WRAPS_JAVA,
    "datastream.functions.SinkFunction": WRAPS_JAVA,
    "datastream.functions.SourceFunction": WRAPS_JAVA,
    "datastream.connectors.file_system.StreamingFileSink.BaseBuilder.with_rolling_policy": OF_FILE_SINK,
    "datastream.connectors.file_system.StreamingFileSink.DefaultRowFormatBuilder.with_rolling_policy": OF_FILE_SINK,
    "datastream.connectors.file_system.StreamingFileSink.DefaultBulkFormatBuilder.with_rolling_policy": OF_FILE_SINK,
    "datastream.data_stream.KeyedStream.broadcast": "PyFlink's raises an error whatever it is given",
    "datastream.stream_execution_environment.StreamExecutionEnvironment.execute_async": (
        "a job without a name has that of the settings, else our own"
    ),
}
NAMED_OR_BY_PLACE = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)


def ours(module: str, path: str) -> list[Parameter]:
    """Return the parameters of ours, without `self`. Raises UnsupportedError where headgate refuses the name."""
    owner: Any = None
    found: Any = importlib.import_module(f"headgate.{module}")
    name = ""
    for name in path.split("."):
        owner, found = found, getattr(found, name)
    taken = list(inspect.signature(found).parameters.values())
    is_static = inspect.isclass(owner) and isinstance(inspect.getattr_static(owner, name), staticmethod)
    has_self = inspect.isclass(owner) and inspect.isfunction(found) and not is_static
    return taken[1:] if has_self else taken


def fits(theirs: str, parameter: Parameter, *, either: bool) -> bool:
    """Whether ours can be given what theirs can. `either`: theirs is left out where an object of Java is given."""
    text = as_text(parameter)
    same = text == theirs or text.startswith(f"{theirs}=") or (either and f"{text}=None" == theirs)
    return same and parameter.kind in NAMED_OR_BY_PLACE


def optional(parameter: Parameter) -> bool:
    stars = parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
    return stars or parameter.default is not Parameter.empty


def agrees(theirs: list[str], parameters: list[Parameter]) -> bool:
    wanted = [name for name in theirs if not name.startswith(JAVA)]
    either = len(wanted) < len(theirs)
    first, more = parameters[: len(wanted)], parameters[len(wanted) :]
    return (
        len(first) == len(wanted)
        and all(fits(*pair, either=either) for pair in zip(wanted, first, strict=True))
        and all(map(optional, more))
    )


@pytest.mark.parametrize("module", SIGNATURES)
def test_parameters_have_pyflinks_names_order_and_defaults(module: str) -> None:
    wrong = []
    for path, theirs in SIGNATURES[module].items():
        try:
            taken = ours(module, path)
        except UnsupportedError:
            continue
        if agrees(theirs, taken) == (f"{module}.{path}" in APART):
            wrong.append(f"{path}: PyFlink has {theirs}, headgate has {[as_text(parameter) for parameter in taken]}")
    assert wrong == []


def test_a_difference_is_found() -> None:
    def method(first: int, second: str = "a", *, third: int = 0) -> None:
        """Take parameters."""

    taken = list(inspect.signature(method).parameters.values())
    assert agrees(["first", "second='a'"], taken)
    for theirs in (["one"], ["first", "second='b'"], ["first", "second='a'", "third=0"], ["first=1"], []):
        assert not agrees(theirs, taken)
