"""Part files: their names, when they appear, and what happens to those that are missing or left over."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from headgate.clock import VirtualClock
from headgate.connectors.files.buckets import BucketAssigner
from headgate.connectors.files.bulk_writer import BulkWriterFactory
from headgate.connectors.files.encoders import Encoder
from headgate.connectors.files.part_names import OutputFileConfig
from headgate.connectors.files.places import Place
from headgate.connectors.files.rolling import RollingPolicy
from headgate.connectors.files.sink import FileSink, FileSinkBuilder
from headgate.errors import ProgramError, SinkError
from headgate.functions.sink import CommitLostError, RetriableCommitError, SinkWriter
from headgate.ids import CheckpointId
from headgate.testing.contracts.sink import JOB, OTHER_JOB, SAVEPOINT, sink_context

TEXT = Encoder.simple_string_encoder()
JSON = Encoder.json_lines_encoder()


def row_sink(folder: str, encoder: Encoder) -> FileSinkBuilder:
    return FileSink.for_row_format(folder, encoder).with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def prepared(writer: SinkWriter, *records: str) -> list:  # type: ignore[type-arg]
    writer.write(list(records))
    return writer.prepare_commit(CheckpointId(1))


def test_names_of_files_tell_job_lineage_operator_subtask_attempt_checkpoint_and_count(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), JSON).build()
    context = sink_context(subtask=1, attempt=3)
    writer = sink.writer(context)
    committables = prepared(writer, "a") + prepared(writer, "b")
    final = [f"part-{JOB.digest()}-1-3_5f0c9c41-{rest}.jsonl" for rest in ("0-0", "1-1")]
    assert names(tmp_path) == [f".{name}.inprogress" for name in final]
    sink.committer(context).commit(committables)
    assert names(tmp_path) == final


def test_prefix_and_suffix_can_be_chosen(tmp_path: Path) -> None:
    config = OutputFileConfig.builder().with_part_prefix("alerts").with_part_suffix(".txt").build()
    sink = row_sink(str(tmp_path), JSON).with_output_file_config(config).build()
    sink.committer(sink_context()).commit(prepared(sink.writer(sink_context()), "a"))
    [name] = names(tmp_path)
    assert name.startswith(f"alerts-{JOB.digest()}-")
    assert name.endswith("-0.txt")


def test_setting_of_a_builder_holds_without_its_result(tmp_path: Path) -> None:
    builder = row_sink(str(tmp_path), JSON)
    builder.with_output_file_config(OutputFileConfig("alerts"))
    builder.with_rolling_policy(RollingPolicy.default_rolling_policy(part_size=1))
    writer = builder.build().writer(sink_context())
    writer.write(["a"])
    writer.write(["b"])
    assert [part.final.name[:7] for part in writer.prepare_commit(CheckpointId(1))] == ["alerts-", "alerts-"]


@pytest.mark.parametrize("prefix", ["", ".part", "_part", "a/b"])
def test_prefix_that_hides_files_is_refused(prefix: str) -> None:
    with pytest.raises(SinkError, match="would hide"):
        OutputFileConfig.builder().with_part_prefix(prefix)


def test_a_file_of_the_size_asked_for_is_followed_by_the_next(tmp_path: Path) -> None:
    policy = RollingPolicy.default_rolling_policy(part_size=10)
    sink = row_sink(str(tmp_path), TEXT).with_rolling_policy(policy).build()
    writer = sink.writer(sink_context())
    for _ in range(5):
        writer.write(["12345"])
    sizes = [part.size_bytes for part in writer.prepare_commit(CheckpointId(1))]
    assert sizes == [12, 12, 6]


def test_without_a_size_files_roll_at_checkpoints_only(tmp_path: Path) -> None:
    policy = RollingPolicy.on_checkpoint_rolling_policy()
    sink = row_sink(str(tmp_path), TEXT).with_rolling_policy(policy).build()
    assert len(prepared(sink.writer(sink_context()), *["12345"] * 100)) == 1


def test_files_roll_by_age_and_by_time_without_records(tmp_path: Path) -> None:
    clock = VirtualClock()
    builder = row_sink(str(tmp_path), TEXT)
    builder.clock = clock
    policy = RollingPolicy.default_rolling_policy(rollover_interval=100, inactivity_interval=60)
    writer = builder.with_rolling_policy(policy).build().writer(sink_context())
    for at_ms in (0, 50, 99, 110, 169, 229):
        clock.advance_to(at_ms)
        writer.write([str(at_ms)])
    parts = writer.prepare_commit(CheckpointId(1))
    assert [Path(part.pending.path).read_text().split() for part in parts] == [
        ["0", "50", "99"],
        ["110", "169"],
        ["229"],
    ]


@pytest.mark.parametrize("setting", ["part_size", "rollover_interval", "inactivity_interval"])
def test_rolling_policy_of_nothing_is_refused(setting: str) -> None:
    with pytest.raises(ProgramError, match=f"needs a {setting} above 0, not 0"):
        RollingPolicy.default_rolling_policy(**{setting: 0})


class SmallFiles(RollingPolicy):
    """Closes each file before the next records."""

    def should_roll(self, size_bytes: int, open_ms: float, idle_ms: float) -> bool:
        return True


def test_policy_may_be_of_ones_own(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).with_rolling_policy(SmallFiles()).build()
    writer = sink.writer(sink_context())
    writer.write(["a"])
    writer.write(["b"])
    assert len(writer.prepare_commit(CheckpointId(1))) == 2


def test_file_that_is_gone_is_lost_for_good_and_both_places_are_named(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committables = prepared(sink.writer(sink_context()), "a")
    [path] = tmp_path.iterdir()
    path.unlink()
    with pytest.raises(CommitLostError, match=r"neither '.*inprogress' nor '.*-0' exists"):
        sink.committer(sink_context()).commit(committables)


def test_file_that_was_cut_short_is_lost_for_good(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committables = prepared(sink.writer(sink_context()), "abc")
    [path] = tmp_path.iterdir()
    path.write_text("a")
    with pytest.raises(CommitLostError, match="has 1 bytes instead of 4"):
        sink.committer(sink_context()).commit(committables)


def test_folder_that_is_not_there_for_now_is_tried_again(tmp_path: Path) -> None:
    folder = tmp_path / "mounted"
    folder.mkdir()
    sink = row_sink(str(folder), TEXT).build()
    committables = prepared(sink.writer(sink_context()), "a")
    folder.rename(tmp_path / "unmounted")
    with pytest.raises(RetriableCommitError, match=r"does not see the folder '.*mounted'"):
        sink.committer(sink_context()).commit(committables)
    (tmp_path / "unmounted").rename(folder)
    sink.committer(sink_context()).commit(committables)
    assert len(list(folder.glob("part-*"))) == 1


def test_move_that_fails_is_tried_again(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committables = prepared(sink.writer(sink_context()), "a")
    blocked = Path(committables[0].final.path)
    blocked.mkdir()
    (blocked / "x").touch()
    with pytest.raises(RetriableCommitError, match=r"cannot move '.*inprogress' to '.*-0'"):
        sink.committer(sink_context()).commit(committables)


def test_commit_that_copied_but_did_not_delete_is_completed(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committables = prepared(sink.writer(sink_context()), "abc")
    [path] = tmp_path.iterdir()
    Path(committables[0].final.path).write_bytes(path.read_bytes())
    sink.committer(sink_context()).commit(committables)
    assert names(tmp_path) == [Path(committables[0].final.path).name]


def test_recovery_removes_the_leftovers_of_dead_attempts(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    writer = sink.writer(sink_context())
    kept = prepared(writer, "kept")
    prepared(writer, "of an incomplete checkpoint")
    writer.write(["in progress"])
    sink.committer(sink_context(attempt=2)).recover(kept)
    assert names(tmp_path) == [Path(kept[0].pending.path).name]
    writer.close()


def test_recovery_leaves_what_a_later_attempt_has_prepared_since_another_driver_has_taken_over(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    later = prepared(sink.writer(sink_context(attempt=3)), "of the other driver")
    sink.committer(sink_context(attempt=2)).recover([])
    assert names(tmp_path) == [Path(later[0].pending.path).name]


def test_subtask_with_a_longer_number_is_another_subtask(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    prepared(sink.writer(sink_context(subtask=11)), "a")
    sink.committer(sink_context(subtask=1)).recover([])
    assert len(names(tmp_path)) == 1


def test_closing_removes_what_is_in_progress(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    writer = sink.writer(sink_context())
    writer.write(["a"])
    writer.close()
    assert names(tmp_path) == []


def test_discarding_leaves_committed_files_and_those_that_a_savepoint_holds(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    sink.prepare(JOB)
    sink.committer(sink_context()).commit(prepared(sink.writer(sink_context()), "a"))
    prepared(sink.writer(sink_context(attempt=2)), "never complete")
    of_another_job = prepared(sink.writer(sink_context(OTHER_JOB)), "b")
    of_a_savepoint = prepared(sink.writer(sink_context(attempt=3)), "c")
    sink.committer(sink_context(attempt=3)).keep(of_a_savepoint, SAVEPOINT)
    sink.discard(JOB)
    sink.release(JOB)
    pending = [name for name in names(tmp_path) if name.endswith(".inprogress")]
    assert pending == sorted([of_a_savepoint[0].pending.name, of_another_job[0].pending.name])


def test_releasing_the_folder_leaves_what_a_retained_checkpoint_is_to_commit(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    sink.prepare(JOB)
    [part] = prepared(sink.writer(sink_context()), "a")
    sink.release(JOB)
    assert names(tmp_path) == [part.pending.name]


def test_a_kept_file_survives_later_attempts_and_loses_its_mark_when_it_is_committed(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    held = prepared(sink.writer(sink_context()), "a")
    sink.committer(sink_context()).keep(held, SAVEPOINT)
    sink.committer(sink_context(attempt=2)).recover([])
    assert names(tmp_path) == [held[0].pending.name, held[0].mark.name]
    sink.committer(sink_context(OTHER_JOB)).commit(held)
    assert names(tmp_path) == [held[0].final.name]


def test_a_file_kept_only_for_savepoints_that_were_given_up_goes_with_the_next_attempt(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committer, writer = sink.committer(sink_context()), sink.writer(sink_context())
    of_both, of_one = prepared(writer, "a"), prepared(writer, "b")
    committer.keep(of_both, SAVEPOINT)
    committer.keep([*of_both, *of_one], "ab" * 16)
    sink.give_up(JOB, frozenset({"cd" * 16}))
    sink.committer(sink_context(attempt=2)).recover([])
    assert len(names(tmp_path)) == 4
    sink.give_up(OTHER_JOB, frozenset({"ab" * 16}))  # the savepoint may be of an earlier lineage
    sink.give_up(JOB, frozenset({"ab" * 16}))
    sink.committer(sink_context(attempt=2)).recover([])
    assert names(tmp_path) == [of_both[0].pending.name, of_both[0].mark.name]
    sink.committer(sink_context(OTHER_JOB)).commit(of_both)
    assert names(tmp_path) == [of_both[0].final.name]


@pytest.mark.parametrize("written", range(34))
def test_a_mark_that_a_crash_cut_short_keeps_what_it_named_before_and_nothing_more(
    tmp_path: Path, written: int
) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committer, writer = sink.committer(sink_context()), sink.writer(sink_context())
    [old], [new] = prepared(writer, "a"), prepared(writer, "b")
    committer.keep([old], SAVEPOINT)
    for part in (old, new):
        with open(part.mark.path, "ab") as file:
            file.write(f"\n{'ab' * 16}"[:written].encode())
    sink.give_up(JOB, frozenset({"ab" * 16}))
    sink.committer(sink_context(attempt=2)).recover([])
    assert names(tmp_path) == [old.pending.name, old.mark.name]


def test_a_mark_that_was_cut_short_once_takes_further_savepoints(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committer = sink.committer(sink_context())
    held = prepared(sink.writer(sink_context()), "a")
    Path(held[0].mark.path).write_text("\nabab")
    committer.keep(held, SAVEPOINT)
    sink.give_up(JOB, frozenset({"ab" * 16}))
    assert held[0].mark.name in names(tmp_path)
    sink.give_up(JOB, frozenset({SAVEPOINT}))
    assert held[0].mark.name not in names(tmp_path)


def test_what_no_snapshot_holds_is_removed_on_request_as_far_as_it_is_there(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    writer, committer = sink.writer(sink_context()), sink.committer(sink_context())
    of_no_snapshot, other = prepared(writer, "a"), prepared(writer, "b")
    for _ in range(2):
        committer.abort(of_no_snapshot)
    assert names(tmp_path) == [other[0].pending.name]


def test_a_file_that_is_final_before_it_is_kept_gets_no_mark(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), TEXT).build()
    committer = sink.committer(sink_context())
    held = prepared(sink.writer(sink_context()), "a")
    committer.commit(held)
    committer.keep(held, SAVEPOINT)
    assert names(tmp_path) == [held[0].final.name]


def test_folder_that_a_host_does_not_see_is_named_with_the_host(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path / "absent"), TEXT).build()
    with pytest.raises(SinkError, match=r"cannot write '.*absent/.*' on host .*the same for all hosts"):
        sink.writer(sink_context()).write(["a"])


def test_relative_folder_is_meant_where_the_program_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    sink = row_sink("out", TEXT).build()
    monkeypatch.chdir("/")
    sink.prepare(JOB)
    assert (tmp_path / "out").is_dir()


def test_files_elsewhere_are_committed_and_leftovers_removed() -> None:
    place = Place.of("mock:///sink", SinkError)
    sink = row_sink("mock:///sink", TEXT).build()
    sink.prepare(JOB)
    writer = sink.writer(sink_context())
    committables = prepared(writer, "a") + prepared(writer, "b")
    prepared(writer, "never complete")
    committer = sink.committer(sink_context(attempt=2))
    committer.recover(committables)
    committer.commit(committables)
    committer.commit(committables)
    sink.release(JOB)
    found = place.system.get_file_info(fs.FileSelector(place.path))
    assert [(info.base_name, info.size) for info in found] == [(part.final.name, 2) for part in committables]


def test_after_rescaling_each_leftover_goes_and_what_another_subtask_was_dealt_stays(tmp_path: Path) -> None:
    sink = row_sink(str(tmp_path), JSON).build()
    old = [replace(sink_context(subtask=subtask), parallelism=4) for subtask in range(4)]
    writers = [sink.writer(context) for context in old]
    durable = [prepared(writer, f"durable {subtask}") for subtask, writer in enumerate(writers)]
    for writer in writers:
        writer.write(["never complete"])
        writer.prepare_commit(CheckpointId(2))
    new = [
        replace(sink_context(subtask=subtask, attempt=2), parallelism=2, restored_id=CheckpointId(1))
        for subtask in range(2)
    ]
    dealt = [durable[2] + durable[3], durable[0] + durable[1]]  # to others than have written it
    committers = [sink.committer(context) for context in new]
    for committer, own in zip(committers, dealt, strict=True):
        committer.recover(own)
        committer.commit(own)
    assert all(name.endswith(".jsonl") for name in names(tmp_path))
    assert sorted(json.loads(path.read_text()) for path in tmp_path.iterdir()) == [f"durable {n}" for n in range(4)]


def test_encoder_in_place_of_a_writer_is_refused_and_the_other_way_round() -> None:
    wrong: Any = Encoder.json_lines_encoder()
    with pytest.raises(ProgramError, match=r"is no BulkWriterFactory: .* for_bulk_format\(\) takes"):
        FileSink.for_bulk_format("out", wrong)
    wrong = BulkWriterFactory.parquet_writer(pa.schema([("id", pa.int64())]))
    with pytest.raises(ProgramError, match=r"is no Encoder: for_row_format\(\) takes an Encoder"):
        FileSink.for_row_format("out", wrong)
