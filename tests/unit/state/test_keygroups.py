"""Key groups: Flink's formulas."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import ProgramError
from headgate.state.keygroups import (
    check_parallelism,
    default_max_parallelism,
    key_group,
    key_group_range,
    murmur32,
    subtask_of_group,
)


@pytest.mark.parametrize(
    ("code", "mixed", "group"),
    [
        (0, 593689054, 94),
        (1, 68075478, 86),
        (2, 1085422463, 127),
        (42, 1134849565, 29),
        (-1, 1982413648, 80),
        (2147483647, 1653689534, 62),
    ],
)
def test_murmur_and_group_of_a_hash_code_are_those_of_flink(code: int, mixed: int, group: int) -> None:
    assert murmur32(code) == mixed
    assert key_group(code, 128) == group


@pytest.mark.parametrize(("code", "group"), [(0, 2526), (1, 4054), (2, 2943), (42, 3613)])
def test_groups_of_4096_are_those_of_flink(code: int, group: int) -> None:
    assert key_group(code, 4096) == group


@pytest.mark.parametrize(("java_code", "group"), [(97, 81), (99162322, 35), (97520992, 98), (101943363, 54), (0, 94)])
def test_groups_of_java_string_hashes_are_those_of_flink(java_code: int, group: int) -> None:
    assert key_group(java_code, 128) == group


@pytest.mark.parametrize(
    ("groups", "parallelism", "ranges"),
    [
        (128, 3, [range(43), range(43, 86), range(86, 128)]),
        (10, 4, [range(3), range(3, 5), range(5, 8), range(8, 10)]),
    ],
)
def test_ranges_are_those_of_flink(groups: int, parallelism: int, ranges: list[range]) -> None:
    assert [key_group_range(subtask, parallelism, groups) for subtask in range(parallelism)] == ranges


@pytest.mark.parametrize(
    ("parallelism", "groups"),
    [
        (1, 128), (85, 128), (86, 256), (128, 256), (171, 256), (200, 512), (1000, 2048), (21844, 32768),
        (21845, 32768), (32768, 32768),
    ],
)  # fmt: skip
def test_default_max_parallelism_is_that_of_flink(parallelism: int, groups: int) -> None:
    assert default_max_parallelism(parallelism) == groups


@given(st.integers(1, 32768).flatmap(lambda groups: st.tuples(st.just(groups), st.integers(1, min(groups, 200)))))
def test_ranges_tile_all_groups_and_agree_with_routing(sizes: tuple[int, int]) -> None:
    groups, parallelism = sizes
    ranges = [key_group_range(subtask, parallelism, groups) for subtask in range(parallelism)]
    assert [ranges[0].start, ranges[-1].stop] == [0, groups]
    assert all(left.stop == right.start for left, right in itertools.pairwise(ranges))
    for subtask, owned in enumerate(ranges):
        assert {subtask_of_group(group, parallelism, groups) for group in (owned[0], owned[-1])} == {subtask}


@given(st.integers(-(2**31), 2**31 - 1))
def test_murmur_is_never_negative_and_fits_31_bits(code: int) -> None:
    assert 0 <= murmur32(code) < 2**31


@pytest.mark.parametrize(("parallelism", "groups"), [(0, 128), (129, 128), (1, 0), (1, 32769)])
def test_a_parallelism_out_of_bounds_names_the_operator(parallelism: int, groups: int) -> None:
    with pytest.raises(ProgramError, match=r"operator 'count': the (max )?parallelism is"):
        check_parallelism("operator 'count'", parallelism, groups)
