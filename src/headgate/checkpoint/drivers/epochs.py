"""Epochs: which driver owns a job, and which manifests of the drivers before it count. Pure.

Theory of operation
-------------------
Two drivers may run one job at the same time: one was thought dead, or a user started it twice. The later one owns the
job. Nothing in storage can be locked, as an object store has no dependable create-if-absent; all that is needed is that
a file which was written is seen by every listing that begins later.

A driver *takes an epoch* by writing a claim, `<number>-<nonce>` with a number above all that it sees, and then lists
again. Number, then nonce, order owners. A driver that sees a higher claim, or its own no more, is *taken over*: it
tells no slot or client anything, deletes nothing and writes no result.

Before a driver writes a manifest, its checkpoint's folder has a file of it, and then it looks for higher claims. So a
later driver, whose claim comes before its listing, either sees the id as used, or is seen by the earlier one, which
then writes no manifest: no two drivers ever write one manifest, and none overwrites another's. After the manifest is
written, and before anybody is told, the driver looks again. If it sees no higher claim, every later driver sees the
manifest in its listing and starts from there: it may be told and committed.

If it does see one, the manifest stays, but whether the later driver has seen it is not known. So each driver records
its *base*, the checkpoint that it starts from, before anything runs: of older owners, only manifests up to its base are
valid. It records with it the bases that it went by itself. They are the *chain*; the chain of the highest owner that
has recorded one is the one that counts. A base that a driver records after it was taken over is in no later chain.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from headgate.ids import CheckpointId

_NAME: Final = re.compile(r"([0-9]+)-([0-9a-z]*)")


@final
@dataclass(frozen=True, slots=True, order=True)
class EpochOwner:
    """A driver that has taken an epoch; later ones are greater."""

    number: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.number}-{self.nonce}"


NOBODY: Final = EpochOwner(0, "")
"""Before every owner."""


@final
@dataclass(frozen=True, slots=True)
class Base:
    """The checkpoint that an owner has started from; 0 for none of the job's own."""

    owner: EpochOwner
    checkpoint_id: CheckpointId


Chain = tuple[Base, ...]
"""The bases of the drivers of a job, in the order of their epochs."""


def parse_owner(name: str) -> EpochOwner | None:
    """Return the owner whose text this is, None for any other text.

    >>> parse_owner("3-5f"), parse_owner("3-5f-base")
    (EpochOwner(number=3, nonce='5f'), None)
    """
    found = _NAME.fullmatch(name)
    return None if found is None else EpochOwner(int(found[1]), found[2])


def next_owner(seen: Iterable[EpochOwner], nonce: str) -> EpochOwner:
    """Return the owner to claim to be, above all that are seen."""
    return EpochOwner(max(seen, default=NOBODY).number + 1, nonce)


def taken_over_by(own: EpochOwner, seen: Iterable[EpochOwner]) -> str | None:
    """Return, in words, who owns the job when it is not `own`."""
    owners = set(seen)
    highest = max(owners, default=NOBODY)
    if highest > own:
        return f"epoch {highest.number}"
    return None if own in owners else "one that has ended since and left no claim"


def is_valid(owner: EpochOwner, checkpoint_id: CheckpointId, chain: Chain) -> bool:
    """Return whether what `owner` stored under this id counts: no later driver has started from before it.

    >>> chain = (Base(EpochOwner(1, "a"), CheckpointId(0)), Base(EpochOwner(2, "b"), CheckpointId(5)))
    >>> [is_valid(EpochOwner(1, "a"), CheckpointId(id_), chain) for id_ in (5, 6)]
    [True, False]
    >>> is_valid(EpochOwner(2, "b"), CheckpointId(6), chain)
    True
    """
    return all(base.owner <= owner or checkpoint_id <= base.checkpoint_id for base in chain)
