"""The table of planted faults: how many seeds it may take to see each, what is seen then, and what makes it show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, final

from tests.simulation import async_plants, mode_plants, plants, power_plants, source_plants


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Planted:
    """One planted fault, which is to be seen within `seeds_max` seeds of jobs that it can show in.

    `seen_by` is the first of them that sees it today, where many come before: it is tried first, which saves minutes.
    `symptom` is a pattern of what is seen ("": whatever it is). `jobs` is a pattern of the jobs, in words, and
    `settings` replace their own; the kinds of faults in `often` come in addition to those that are drawn.
    """

    plant: plants.Plant
    seeds_max: int
    seen_by: tuple[int, ...] = ()
    symptom: str = ""
    jobs: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    often: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name of what is planted."""
        return self.plant.__name__


_BUSY: Final = {"execution.checkpointing.interval": 20}
_PATIENT: Final = {**_BUSY, "execution.checkpointing.timeout": 2_000}
_MANY_AT_A_TIME: Final = {
    **_BUSY,
    "execution.checkpointing.max-concurrent-checkpoints": 3,
    "execution.checkpointing.unaligned.enabled": False,
}
_AT_LEAST_ONCE: Final = {
    "execution.checkpointing.mode": "AT_LEAST_ONCE",
    "execution.checkpointing.unaligned.enabled": False,
}
_UNALIGNED: Final = {
    **_BUSY,
    "execution.checkpointing.mode": "EXACTLY_ONCE",
    "execution.checkpointing.unaligned.enabled": True,
    "execution.checkpointing.aligned-checkpoint-timeout": 0,
    "execution.checkpointing.max-concurrent-checkpoints": 1,
}
_LARGE_BATCHES: Final = {**_UNALIGNED, "headgate.batch.records": 16}
_SMALL_INCREMENTS: Final = {
    "execution.checkpointing.interval": 10,
    "execution.checkpointing.incremental": True,
    "state.changelog.enabled": False,
    "headgate.batch.records": 1,
}
_INCREMENTAL: Final = "incremental': True|changelog.enabled': True"
_IN_ORDER: Final = r"^\([^)]*\)x\d( \+ \([^)]*\)x\d)* > ((map|filter|flat_map|rebalance)x1 > )*(value|list)x"
_STOPPED_FIRST: Final = r"^[^;]*; (savepoint[^;]*; )*after \d+ ms it is (stopped|drained)"
_CRASHES: Final = ("slot crash",) * 3
_FAILURES: Final = ("user exception",) * 4
_UNCOMMITTED: Final = ("master crash at an operation",) * 3 + ("outside outage",) * 4
_DOUBTS: Final = ("slot crash in doubt",) * 6
_NEW_DRIVERS: Final = ("master presumed dead",) * 6 + ("slow storage",) * 3
_NO_POWER: Final = ("loss of power",) * 3

PLANTED: Final = (
    Planted(plant=plants.no_alignment, seeds_max=60, seen_by=(6,), symptom="output"),
    Planted(plant=plants.no_fencing, seeds_max=80, seen_by=(6,), settings=_BUSY, often=_CRASHES),
    Planted(
        plant=plants.ack_of_an_old_attempt,
        seeds_max=40,
        seen_by=(26,),
        symptom="is not whole|output|no durable manifest names it|not final|is complete|neither pending nor final",
        settings={**_BUSY, "restart-strategy.fixed-delay.delay": 0},
        often=("slow storage",) * 3 + _DOUBTS,
    ),
    Planted(plant=plants.metadata_before_the_state, seeds_max=40, symptom="is not whole"),
    Planted(plant=plants.commit_before_the_manifest, seeds_max=5, symptom="no durable manifest names it|no end after"),
    Planted(
        plant=plants.abort_in_doubt,
        seeds_max=30,
        seen_by=(4,),
        symptom="is not whole|output|newest checkpoint|names it|neither pending nor final",
        settings=_BUSY,
        often=_DOUBTS,
    ),
    Planted(plant=plants.lost_replay, seeds_max=60, symptom="missing"),
    Planted(plant=plants.double_commit, seeds_max=60, seen_by=(4,), symptom="too many"),
    Planted(plant=plants.position_ahead_of_the_barrier, seeds_max=60, seen_by=(5,), symptom="missing"),
    Planted(plant=plants.no_barrier_after_the_end, seeds_max=5, symptom="no end after"),
    Planted(plant=plants.clean_up_of_named_files, seeds_max=20, symptom="names it"),
    Planted(
        plant=plants.torn_manifest_taken_for_whole,
        seeds_max=60,
        seen_by=(230,),
        symptom="cannot be restored|cut short|is torn",
        jobs="tolerable-failed-checkpoints': 0.*num-retained': 2",  # the attempt ends with the torn write
        settings=_BUSY,
        often=("master crash at an operation",) * 6,
    ),
    Planted(plant=plants.restore_without_pending_commits, seeds_max=60, symptom="output|aborted"),
    Planted(
        plant=plants.attempts_numbered_anew, seeds_max=50, seen_by=(34,), settings=_BUSY, often=("master crash",) * 3
    ),
    Planted(plant=plants.operator_state_forgotten, seeds_max=60, symptom="counts"),
    Planted(
        plant=plants.pending_inputs_forgotten,
        seeds_max=30,
        seen_by=(6,),
        symptom="missing|too few",
        jobs="asking|calling",
        often=_CRASHES,
    ),
    Planted(plant=async_plants.watermark_ahead_of_results, seeds_max=20, symptom="is ahead of", jobs="callingx"),
    Planted(
        plant=async_plants.result_of_an_earlier_attempt,
        seeds_max=40,
        seen_by=(141,),
        symptom="output",
        jobs="calling",
        settings=_BUSY,
        often=_FAILURES,
    ),
    Planted(
        plant=async_plants.batch_in_flight_forgotten,
        seeds_max=30,
        seen_by=(6,),
        symptom="missing|too few",
        jobs="scoring",
        settings=_BUSY,
        often=_FAILURES,
    ),
    Planted(
        plant=async_plants.watermark_ahead_of_invocations,
        seeds_max=30,
        seen_by=(75,),
        symptom="is ahead of",
        jobs="awaitingx",
    ),
    Planted(
        plant=async_plants.watermark_ahead_of_timers, seeds_max=20, seen_by=(31,), symptom="missing", jobs="awaitingx"
    ),
    Planted(
        plant=async_plants.invocation_of_an_earlier_attempt,
        seeds_max=60,
        seen_by=(75,),
        symptom="output",
        jobs="awaitingx",
        settings=_BUSY,
        often=_FAILURES,
    ),
    Planted(plant=async_plants.invocations_of_a_key_all_at_once, seeds_max=10, symptom="output", jobs="awaitingx"),
    Planted(
        plant=async_plants.record_overtakes_one_of_its_key, seeds_max=30, seen_by=(75,), symptom="saw", jobs="awaitingx"
    ),
    Planted(
        plant=async_plants.invocation_in_flight_forgotten,
        seeds_max=30,
        symptom="missing|too few",
        jobs="awaitingx",
        settings=_BUSY,
        often=_CRASHES,
    ),
    Planted(plant=plants.timers_forgotten, seeds_max=60, symptom="missing"),
    Planted(
        plant=plants.union_of_one_subtask,
        seeds_max=50,
        symptom="not one element of each|end|missing|counts",
        jobs="unionx[2-9]",
        often=_CRASHES,
    ),
    Planted(
        plant=plants.discard_of_what_is_used_again,
        seeds_max=30,
        seen_by=(8,),
        symptom="names it|is not whole",
        jobs=_INCREMENTAL,
        settings=_BUSY,
        often=_CRASHES,
    ),
    Planted(
        plant=plants.folder_of_shared_files_deleted,
        seeds_max=100,
        seen_by=(10,),
        symptom="folder of shared files",
        jobs=_INCREMENTAL,
    ),
    Planted(
        plant=plants.shared_files_deleted_at_once,
        seeds_max=60,
        seen_by=(4,),
        symptom="names it|is not whole",
        jobs=_INCREMENTAL,
        settings=_MANY_AT_A_TIME,
        often=_CRASHES,
    ),
    Planted(plant=plants.state_written_as_it_is_now, seeds_max=120, seen_by=(14,), symptom="counts|missing"),
    Planted(
        plant=mode_plants.rest_of_the_batch_forgotten,
        seeds_max=60,
        seen_by=(51,),
        symptom="missing",
        settings=_LARGE_BATCHES,
        often=_CRASHES * 2,
    ),
    Planted(
        plant=mode_plants.a_channel_forgotten,
        seeds_max=40,
        seen_by=(7,),
        symptom="missing",
        settings=_UNALIGNED,
        often=_CRASHES,
    ),
    Planted(
        plant=mode_plants.senders_part_forgotten,
        seeds_max=40,
        seen_by=(7,),
        symptom="missing",
        settings=_UNALIGNED,
        often=_CRASHES,
    ),
    Planted(
        plant=mode_plants.recording_goes_on,
        seeds_max=60,
        seen_by=(5,),
        symptom="too many",
        settings=_UNALIGNED,
        often=_CRASHES,
    ),
    Planted(
        plant=mode_plants.new_input_before_what_was_in_flight,
        seeds_max=250,
        symptom="missing|saw",
        jobs=_IN_ORDER,
        settings=_LARGE_BATCHES,
        often=_CRASHES * 2,
    ),
    Planted(
        plant=mode_plants.routed_again_without_a_look_at_the_keys,
        seeds_max=120,
        seen_by=(69,),
        symptom="too many|key group",
        jobs="(loses its driver for good|is cancelled); then",
        settings=_LARGE_BATCHES,
    ),
    Planted(
        plant=mode_plants.checkpoint_before_recovery,
        seeds_max=80,
        seen_by=(6,),
        symptom="missing",
        settings=_LARGE_BATCHES,
        often=_CRASHES * 2,
    ),
    Planted(
        plant=mode_plants.a_channel_counted_twice,
        seeds_max=80,
        seen_by=(7,),
        symptom="missing",
        settings=_AT_LEAST_ONCE,
        often=_CRASHES,
    ),
    Planted(plant=mode_plants.savepoint_commits, seeds_max=40, seen_by=(8,), symptom="is complete"),
    Planted(
        plant=mode_plants.stop_commits_before_it_is_recorded,
        seeds_max=10,
        symptom="is complete",
        jobs="(stopped|drained)",
    ),
    Planted(
        plant=mode_plants.stop_forgotten,
        seeds_max=40,
        symptom="aborted|is not whole|too many|cannot be restored",
        jobs=_STOPPED_FIRST,
        often=("master crash at the stop",) * 3,
    ),
    Planted(
        plant=mode_plants.no_epochs,
        seeds_max=30,
        symptom="is complete|prepared twice|is not whole|starts from|is deleted",
        often=_NEW_DRIVERS,
    ),
    Planted(
        plant=mode_plants.epochs_looked_at_too_late,
        seeds_max=240,
        seen_by=(74,),
        symptom="is complete",
        settings=_PATIENT,
        often=_NEW_DRIVERS,
    ),
    Planted(
        plant=mode_plants.increment_on_foreign_state,
        seeds_max=60,
        seen_by=(55,),
        symptom="is not whole",
        jobs="(value|list|reduce|clearing)x.*loses its driver for good; then",
        settings=_SMALL_INCREMENTS,
    ),
    Planted(
        plant=mode_plants.claimed_snapshot_deleted_too_early,
        seeds_max=30,
        seen_by=(8,),
        symptom="was claimed",
        jobs="'CLAIM'",
    ),
    Planted(
        plant=source_plants.split_known_but_not_kept,
        seeds_max=150,
        seen_by=(18,),
        symptom="missing",
        settings=_BUSY,
        often=_CRASHES,
    ),
    Planted(
        plant=source_plants.known_splits_forgotten,
        seeds_max=10,
        symptom="no end after|too many",
        settings=_BUSY,
        often=_CRASHES,
    ),
    Planted(
        plant=source_plants.position_of_what_was_fetched,
        seeds_max=60,
        symptom="missing",
        settings=_BUSY,
        often=_CRASHES,
    ),
    Planted(
        plant=source_plants.global_commit_before_the_manifest,
        seeds_max=20,
        symptom="no durable manifest names it",
        settings=_BUSY,
        often=_CRASHES,
    ),
    Planted(
        plant=source_plants.global_commit_skipped_at_a_restore,
        seeds_max=60,
        seen_by=(7,),
        symptom="is not final|missing",
        settings=_BUSY,
        often=_UNCOMMITTED,
    ),
    Planted(plant=power_plants.written_but_not_synced, seeds_max=40, settings=_BUSY, often=_NO_POWER),
    Planted(
        plant=power_plants.prepared_but_not_secured,
        seeds_max=40,
        seen_by=(6,),
        symptom="neither pending nor final|is gone, although",
        settings=_BUSY,
        often=_NO_POWER,
    ),
    Planted(
        plant=power_plants.evidence_not_looked_at,
        seeds_max=30,
        symptom="starts from|too many|is complete",
        settings=_BUSY,
        often=("damage",) * 4,
    ),
    Planted(plant=plants.one_lineage_for_all, seeds_max=30, symptom="prepared twice|differs"),
    Planted(
        plant=plants.nothing_is_given_up,
        seeds_max=30,
        seen_by=(6,),
        symptom="is kept for ever",
        often=("master crash inside a savepoint",) * 3,
    ),
)
