"""The savepoint writer: makes a savepoint out of data, or out of another snapshot with some of its state replaced."""

from __future__ import annotations

import json
import random
import secrets
from collections.abc import Mapping
from typing import Any, Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.file_store import FileSystemStore, absolute
from headgate.checkpoint.manifest import Manifest, OperatorManifest, encode
from headgate.checkpoint.restore.assign import deal_evenly
from headgate.checkpoint.restore.snapshots import OpenedSnapshot, open_snapshot
from headgate.clock import SystemClock
from headgate.elements import SavepointFormat
from headgate.errors import ProgramError, RestoreError, StorageError
from headgate.ids import CheckpointId, new_job_id
from headgate.savepoints.input_data import InputColumns, given, given_values
from headgate.savepoints.operator_writer import ATTEMPT, PlannedOperator, PlannedState, PlannedTarget, write_operator
from headgate.savepoints.tables import KeyedTables
from headgate.state.canonical.layout import KEY, VALUE
from headgate.state.descriptors import ListStateDescriptor, MapStateDescriptor, StateDescriptor
from headgate.state.formats.codecs import pickled
from headgate.state.formats.schema import item_type
from headgate.state.keyed.columns import meta_of
from headgate.state.keygroups import check_parallelism
from headgate.state.operator.list_elements import ListElements, ListMode
from headgate.types.typeinfo import MapTypeInfo, TypeInformation

_FIRST: Final = CheckpointId(1)


@final
class SavepointWriter:
    """Makes a canonical savepoint, from which a job starts as from one of its own.

    The methods `with_...` add state to the plan and return the writer; `write` writes everything. Data of a state are
    an Arrow table (or another source of Arrow batches, such as a reader or a data frame of pandas), a Spark data frame,
    a dict, or pairs of key and value.

    >>> from headgate.state.descriptors import ValueStateDescriptor
    >>> from headgate.types.typeinfo import Types
    >>> writer = SavepointWriter.new(max_parallelism=128)
    >>> writer.with_keyed_state("count", ValueStateDescriptor("seen", Types.LONG()), {"ann": 7})
    SavepointWriter(operators: count)
    """

    def __init__(self, opened: OpenedSnapshot | None, parallelism: int, max_parallelism: int) -> None:
        self._opened = opened
        self._parallelism = parallelism
        self._max_parallelism = max_parallelism
        self._moved: dict[str, str] = {}
        self._operators: dict[str, PlannedOperator] = {}

    @classmethod
    def new(cls, max_parallelism: int, *, parallelism: int = 1) -> SavepointWriter:
        """Begin an empty savepoint for operators of this max parallelism, which the job must have as well.

        State is written in `parallelism` parts. The job may have another parallelism; for large state, choose about
        the same. Raises `ProgramError` for a parallelism that no operator can have.
        """
        check_parallelism("the savepoint", parallelism, max_parallelism)
        return cls(None, parallelism, max_parallelism)

    @classmethod
    def from_existing(cls, path: str, *, moved_classes: Mapping[str, str] | None = None) -> SavepointWriter:
        """Begin with all state of a savepoint, or of a retained checkpoint of any kind. It is not changed. Blocks.

        Added operators get the highest parallelism and max parallelism of the existing operators. `moved_classes` maps
        the old names of moved classes to their new names. Raises `RestoreError` if there is no complete snapshot, or if
        it has data in flight, which a savepoint cannot hold, and `StorageError` if storage does not answer.
        """
        opened = open_snapshot(str(path), FileSystemStore.open_folder)
        manifest = opened.manifest
        if manifest.in_flight:
            raise RestoreError(
                f"{opened.store.locate(opened.metadata)} is an unaligned checkpoint with data in flight, which would "
                "be lost: start from a savepoint"
            )
        parallelism = max((operator.parallelism for operator in manifest.operators), default=1)
        writer = cls(opened, parallelism, max((each.max_parallelism for each in manifest.operators), default=128))
        writer._moved = dict(moved_classes or {})
        writer._operators = {operator.uid: _planned(operator) for operator in manifest.operators}
        return writer

    # --- planning

    def with_keyed_state(  # noqa: PLR0913  # three of them are keywords with defaults
        self,
        uid: str,
        descriptor: StateDescriptor,
        data: Any,
        *,
        key: str = KEY,
        value: str = VALUE,
        key_type: TypeInformation | None = None,
    ) -> SavepointWriter:
        """Write a keyed state of an operator. It replaces all values of the state.

        Declare the state as the program does. Values of an aggregating state are accumulators, of a list state lists,
        of a map state dicts (maps). `key` and `value` name the columns of a table. State with a time to live also uses
        the column `last_access_ms`; without it, values count as accessed now. `key_type` is the type that the program's
        key selector returns. By default it follows from the column: structs with the fields f0, f1 and so on are
        tuples, other structs rows. If a key comes twice, its last value counts. None is not a value.

        `write` reads the data. Raises `ProgramError` for anything but a descriptor.
        """
        if not isinstance(descriptor, StateDescriptor) or not descriptor.kind.name:
            raise ProgramError(f"a keyed state is written by its descriptor, not {descriptor!r}")
        reading = InputColumns(key=key, value=value, key_type=key_type, value_type=descriptor.type_info)
        self._operator(uid).keyed[descriptor.name] = PlannedState(meta_of(descriptor), data, reading)
        return self

    def with_list_state(self, uid: str, descriptor: ListStateDescriptor, values: Any) -> SavepointWriter:
        """Write an operator list state, distributed evenly over the subtasks. It replaces the state's elements.

        `values` are elements, or a table with the column `value`. Raises `ProgramError` for anything but a list state.
        """
        return self._with_elements(uid, descriptor, values, ListMode.SPLIT)

    def with_union_list_state(self, uid: str, descriptor: ListStateDescriptor, values: Any) -> SavepointWriter:
        """Write an operator list state whose elements go to every subtask. Otherwise as `with_list_state`."""
        return self._with_elements(uid, descriptor, values, ListMode.UNION)

    def _with_elements(self, uid: str, descriptor: Any, values: Any, mode: ListMode) -> SavepointWriter:
        if not isinstance(descriptor, ListStateDescriptor):
            raise ProgramError(f"an operator list state is written by a ListStateDescriptor, not {descriptor!r}")
        elements = list(map(pickled, given_values(values, item_type(meta_of(descriptor)))))
        operator = self._operator(uid)
        parts = [elements]
        if mode is ListMode.SPLIT:
            parts = [part.get("", []) for part in deal_evenly({"": elements}, operator.parallelism)]
        operator.lists[descriptor.name] = [ListElements(mode, part, _type_of(descriptor)) for part in parts]
        return self

    def with_broadcast_state(self, uid: str, descriptor: MapStateDescriptor, data: Any) -> SavepointWriter:
        """Write a broadcast state. It replaces the state's entries.

        `data` are a dict, pairs, or a table with the columns `key` and `value`. Raises `ProgramError` for anything but
        a map state.
        """
        if not isinstance(descriptor, MapStateDescriptor) or not isinstance(descriptor.type_info, MapTypeInfo):
            raise ProgramError(f"a broadcast state is written by a MapStateDescriptor, not {descriptor!r}")
        types = descriptor.type_info
        reading = InputColumns(key=KEY, value=VALUE, key_type=types.key_type_info, value_type=types.value_type_info)
        elements = [pickled((key, value)) for key, value, _ in given(data, reading)]
        written = ListElements(ListMode.BROADCAST, elements, _type_of(descriptor))
        self._operator(uid).lists[descriptor.name] = [written]
        return self

    def remove_operator(self, uid: str) -> SavepointWriter:
        """Leave an operator out. Raises `ProgramError` if there is no operator with this uid."""
        del self._operators[self._known(uid)]
        return self

    def change_uid(self, old: str, new: str) -> SavepointWriter:
        """Change the uid of an operator. Raises `ProgramError` if there is none, or if another one has the new uid."""
        operator = self._operators[self._known(old)]
        if new in self._operators:
            raise ProgramError(f"operator {old!r} cannot get the uid {new!r}: another one has it; remove that first")
        operator.uid = new
        self._operators = {each.uid: each for each in self._operators.values()}
        return self

    def _known(self, uid: str) -> str:
        if uid not in self._operators:
            known = ", ".join(self._operators) or "none"
            raise ProgramError(f"there is no operator of uid {uid!r} in the savepoint; there are: {known}")
        return uid

    def _operator(self, uid: str) -> PlannedOperator:
        if uid not in self._operators:
            self._operators[uid] = PlannedOperator(
                uid=uid, name=uid, parallelism=self._parallelism, max_parallelism=self._max_parallelism
            )
        return self._operators[uid]

    # --- writing

    def write(self, path: str) -> str:
        """Write the savepoint into the folder `path`, a URI or a local path, and return its location. Blocks.

        The manifest is written last: without it there is no savepoint. Raises `StorageError` if the folder has files or
        storage fails, `ProgramError` or `SerializationError` for data that do not fit, and the errors of
        `SavepointReader` for existing state.
        """
        location = absolute(str(path))
        store = FileSystemStore.open_folder(location)
        if store.list_files(""):
            raise StorageError(f"{store.locate('')} has files already: give the savepoint a folder of its own")
        target = PlannedTarget(location=location, store=store, now_ms=SystemClock().wall_ms())
        tables = None if self._opened is None else KeyedTables(self._opened, self._moved)
        try:
            operators = tuple(write_operator(operator, tables, target) for operator in self._operators.values())
        finally:
            if tables is not None:
                tables.close()
        manifest = self._manifest(operators, target.now_ms)
        store.delete(sorted({*store.list_files("")} - manifest.files()))  # files of tasks that Spark ran twice
        store.write(paths.METADATA, [encode(manifest)])
        return location

    def _manifest(self, operators: tuple[OperatorManifest, ...], now_ms: int) -> Manifest:
        before = None if self._opened is None else self._opened.manifest
        return Manifest(
            job_id=new_job_id(random.Random(secrets.randbits(128))) if before is None else before.job_id,
            checkpoint_id=_FIRST if before is None else before.checkpoint_id,
            attempt=ATTEMPT if before is None else before.attempt,
            epoch=1 if before is None else before.epoch,
            parent=None,
            trigger_ms=now_ms,
            final=False,
            operators=operators,
            savepoint=SavepointFormat.CANONICAL,
        )

    def __repr__(self) -> str:
        return f"SavepointWriter(operators: {', '.join(self._operators) or 'none'})"


def _planned(operator: OperatorManifest) -> PlannedOperator:
    return PlannedOperator(
        uid=operator.uid,
        name=operator.name,
        parallelism=operator.parallelism,
        max_parallelism=operator.max_parallelism,
        source=operator,
    )


def _type_of(descriptor: StateDescriptor) -> str:
    return json.dumps(descriptor.type_info.to_json())
