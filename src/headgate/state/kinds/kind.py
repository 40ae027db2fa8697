"""The description of a kind of keyed state, by which all other code uses the kind, and the base class of descriptors.

A kind is one module of this package, with its handles, its descriptor and its `StateKind`, and a row of `KINDS` in
`state/descriptors.py`. docs/internals/adding-a-state-kind.md explains how to add a kind.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NoReturn, Protocol, TypeVar, final

from headgate.errors import InternalError, ProgramError
from headgate.state.kinds.forms import SINGLE, StoredForm
from headgate.state.ttl import StateTtlConfig
from headgate.types.typeinfo import TypeInformation

if TYPE_CHECKING:
    from headgate.state.kinds.handle import State
    from headgate.state.kinds.lifetime import Lifetime
    from headgate.state.kinds.owner import HandleOwner

D = TypeVar("D", bound="StateDescriptor")
D_contra = TypeVar("D_contra", bound="StateDescriptor", contravariant=True)


class Merge(Protocol[D_contra]):
    """Merges the stored content of several namespaces."""

    def __call__(self, descriptor: D_contra, target: Any | None, sources: Sequence[Any], now_ms: int, /) -> Any | None:
        """Merge the sources in order, then add the result to the target. Return None for no content."""
        ...


@dataclass(frozen=True)
class SavedKind:
    """A kind as snapshots describe it: its name and its stored form."""

    name: str
    form: StoredForm


@final
@dataclass(frozen=True)
class StateKind(SavedKind, Generic[D]):
    """A kind of keyed state that programs declare with a descriptor.

    `handle` is the class of handles, `expiring` the class of handles with a time to live. State of a kind without
    `merge` cannot be used in merging windows.
    """

    handle: Callable[[D, HandleOwner, int], State]
    expiring: Callable[[D, HandleOwner, int, Lifetime], State]
    merge: Merge[D] | None = None


def _no_handle(descriptor: StateDescriptor, *_: object) -> NoReturn:
    raise InternalError(f"{descriptor!r} is of kind {descriptor.kind.name!r}, which no backend knows")


_NO_KIND: Final = StateKind["StateDescriptor"]("", SINGLE, handle=_no_handle, expiring=_no_handle)


class StateDescriptor:
    """The name and the type of a state. As in Flink, descriptors are equal if their classes and names are equal.

    `type_info` is the type of all content of a key: for a list state, the type of the list.
    """

    kind: ClassVar[StateKind[Any]] = _NO_KIND

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not isinstance(name, str) or not name:
            raise ProgramError(f"a state needs a name (a non-empty str), not {name!r}")
        self.name = name
        self.type_info = checked_type(name, type_info)
        self.ttl: StateTtlConfig | None = None
        """How long values live after their last access. None means no limit."""

    def get_name(self) -> str:
        """Return the name."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Let values of this state expire. A configuration with the update type `Disabled` removes the time to live.

        Call it before the descriptor is passed to the runtime context. Raises `ProgramError`.
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise ProgramError(
                f"enable_time_to_live of state {self.name!r} takes a StateTtlConfig, for instance "
                f"StateTtlConfig.new_builder(Time.hours(1)).build(), not {ttl_config!r}"
            )
        self.ttl = ttl_config if ttl_config.is_enabled() else None

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, StateDescriptor) and self.name == other.name

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.name))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.type_info})"


def checked_type(name: str, type_info: TypeInformation) -> TypeInformation:
    """Return the type that a state is declared with. Raises `ProgramError` if it is not a type."""
    if not isinstance(type_info, TypeInformation):
        raise ProgramError(
            f"state {name!r} needs a type, for instance Types.LONG() or Types.PICKLED_BYTE_ARRAY(), not {type_info!r}"
        )
    return type_info
