"""Configuration: typed access, copies, and the values it hands to the settings."""

import pytest

from headgate.common.config_options import ConfigOptions
from headgate.common.configuration import Configuration
from headgate.errors import ConfigError
from headgate.options import CHECKPOINT_DIR, CHECKPOINT_INTERVAL, JOB_PARAMETERS, resolve


def test_typed_values_are_read_back_and_missing_ones_give_the_default() -> None:
    configuration = (
        Configuration()
        .set_string("s", "x")
        .set_integer("i", 1)
        .set_boolean("b", True)
        .set_float("f", 0.5)
        .set_bytearray("y", bytearray(b"z"))
    )
    assert configuration.get_string("s", "") == "x"
    assert configuration.get_integer("i", 0) == 1
    assert configuration.get_boolean("b", False) is True
    assert configuration.get_float("f", 0.0) == 0.5
    assert configuration.get_bytearray("y", bytearray()) == bytearray(b"z")
    assert configuration.get_string("i", "") == "1"
    assert configuration.get_string("b", "") == "true"
    assert configuration.get_integer("missing", 7) == 7


def test_a_value_of_another_type_names_key_and_value() -> None:
    with pytest.raises(ConfigError, match=r"n is 'many' .* must be a whole number"):
        Configuration.from_dict({"n": "many"}).get_integer("n", 0)


def test_a_copy_does_not_change_with_the_original() -> None:
    original = Configuration.from_dict({"a": "1"})
    copy = Configuration(original)
    original.set_string("a", "2")
    assert copy.to_dict() == {"a": "1"}
    assert copy != original


def test_keys_are_added_with_a_prefix_and_removed() -> None:
    configuration = Configuration().add_all(Configuration.from_dict({"a": "1"}), "x.")
    assert configuration.key_set() == {"x.a"}
    assert configuration.contains_key("x.a")
    assert configuration.remove_config("x.a")
    assert not configuration.remove_config("x.a")
    target: dict[str, object] = {}
    Configuration.from_dict({"b": "2"}).add_all_to_dict(target)
    assert target == {"b": "2"}


def test_options_are_written_checked_and_read_also_under_older_names() -> None:
    configuration = Configuration.from_dict({"state.checkpoints.dir": "file:///x"})
    assert configuration.read(CHECKPOINT_DIR) == "file:///x"
    configuration.write(CHECKPOINT_DIR, "file:///y")
    assert configuration.read(CHECKPOINT_DIR) == "file:///y"
    with pytest.raises(ConfigError, match="at least 10 ms"):
        configuration.write(CHECKPOINT_INTERVAL, 9)
    assert configuration.read(CHECKPOINT_INTERVAL) is None


def test_pairs_survive_the_way_through_text() -> None:
    configuration = Configuration()
    configuration.write(JOB_PARAMETERS, {"a": "1,2:3", "b": ""})
    assert resolve(configuration.to_dict()).get(JOB_PARAMETERS) == {"a": "1,2:3", "b": ""}


def test_a_program_describes_keys_of_its_own() -> None:
    option = ConfigOptions.key("limit").long_type().default_value(5)
    assert (option.key, option.value_type, option.default_value) == ("limit", int, 5)
    assert ConfigOptions.key("name").string_type().no_default_value().default_value is None


def test_what_is_no_choice_is_refused_with_what_to_pass() -> None:
    with pytest.raises(ConfigError, match=r"'/tmp/x' is a str .* FileSystemCheckpointStorage\(path\)"):
        Configuration().apply("/tmp/x")  # type: ignore[arg-type]
