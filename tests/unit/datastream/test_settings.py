"""Settings are what they are in PyFlink where a program sets none, and are read as PyFlink reads them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from headgate.errors import IgnoredWarning
from tests.fixtures.settings import answers

PYFLINK: dict[str, str] = json.loads((Path(__file__).parents[2] / "fixtures" / "pyflink_settings.json").read_text())
FAILS = "PyFlink calls a method that its Java side has no more, or reads nothing as a list"
NOT_CHAINED = "such operators are never chained"
APART = {
    "env.is_chaining_of_operators_with_different_max_parallelism_enabled()": NOT_CHAINED,
    "checkpointed.is_chaining_of_operators_with_different_max_parallelism_enabled()": NOT_CHAINED,
    "FileSystemCheckpointStorage().get_checkpoint_path()": "Java leaves out the slashes of file:///",
    "get_string(bytes)": "PyFlink shows bytes in a language of its own",
    "parse_list_value('[1, true]')": "items are always text here",
    "env.get_config().get_default_kryo_serializer_classes()": FAILS,
    "env.get_config().get_registered_kryo_types()": FAILS,
    "env.get_config().get_registered_pojo_types()": FAILS,
    "env.get_config().has_generic_types_disabled()": FAILS,
    "env.get_config().is_force_avro_enabled()": FAILS,
    "env.get_config().is_force_kryo_enabled()": FAILS,
    "EmbeddedRocksDBStateBackend().get_db_storage_paths()": FAILS,
    "EmbeddedRocksDBStateBackend(True).get_db_storage_paths()": FAILS,
}


@pytest.fixture(scope="module")
def ours() -> dict[str, str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IgnoredWarning)
        return answers("headgate")


@pytest.mark.parametrize("question", PYFLINK)
def test_the_answer_is_pyflinks(question: str, ours: dict[str, str]) -> None:
    assert (ours[question] != PYFLINK[question]) == (question in APART)
