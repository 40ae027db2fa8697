"""Epochs: which driver owns a job, and which manifests of earlier drivers count. Pure.

Theory of operation
-------------------
Two drivers may run one job at the same time: one seemed dead, or a user started the job twice. The later driver owns
the job. Storage has no locks, because object stores have no dependable create-if-absent. The protocol needs only this:
every listing that begins after a write shows the written file.

A driver *takes an epoch* by writing a claim, `<number>-<nonce>`, with a number above all that it sees. Then it lists
again. Owners are ordered by number, then by nonce. A driver that sees a higher claim, or no longer sees its own claim,
is *taken over*: it tells no slot or client anything, deletes nothing and writes no result.

Before a driver writes a manifest, it makes sure that the checkpoint's folder has a file, and then looks for higher
claims. A later driver writes its claim before it lists. So either the later driver sees the checkpoint id as used, or
the earlier driver sees the later claim and writes no manifest. Therefore two drivers never write the same manifest.
After the manifest is written, and before the driver tells anybody, it looks again. If it sees no higher claim, every
later driver sees the manifest in its listing and starts from it: the driver may tell slots and clients, and commit.

If it sees a higher claim, the manifest stays, but the later driver may not have seen it. So each driver records its
*base*, the checkpoint that it starts from, before anything runs. Manifests of older owners count only up to this base.
With its base a driver records the bases of earlier drivers. Together they are the *chain*. The chain of the highest
owner that has recorded one counts. A base that a driver records after it was taken over is in no later chain.
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
    """A driver that has taken an epoch. Later owners compare as greater."""

    number: int
    nonce: str

    def __str__(self) -> str:
        return f"{self.number}-{self.nonce}"


NOBODY: Final = EpochOwner(0, "")
"""The owner that compares as less than every driver."""


@final
@dataclass(frozen=True, slots=True)
class Base:
    """The checkpoint of the job that an owner has started from; 0 for none."""

    owner: EpochOwner
    checkpoint_id: CheckpointId


Chain = tuple[Base, ...]
"""The bases of the drivers of a job, in the order of their epochs."""


def parse_owner(name: str) -> EpochOwner | None:
    """Return the owner that `name` is the text of, None for any other text.

    >>> parse_owner("3-5f"), parse_owner("3-5f-base")
    (EpochOwner(number=3, nonce='5f'), None)
    """
    found = _NAME.fullmatch(name)
    return None if found is None else EpochOwner(int(found[1]), found[2])


def next_owner(seen: Iterable[EpochOwner], nonce: str) -> EpochOwner:
    """Return an owner above all that are `seen`, for the next claim."""
    return EpochOwner(max(seen, default=NOBODY).number + 1, nonce)


def taken_over_by(own: EpochOwner, seen: Iterable[EpochOwner]) -> str | None:
    """Return a description of the driver that owns the job, None if `own` does."""
    owners = set(seen)
    highest = max(owners, default=NOBODY)
    if highest > own:
        return f"epoch {highest.number}"
    return None if own in owners else "one that has ended since and left no claim"


def is_valid(owner: EpochOwner, checkpoint_id: CheckpointId, chain: Chain) -> bool:
    """Return whether the checkpoint that `owner` stored counts: no later driver has started from an earlier checkpoint.

    >>> chain = (Base(EpochOwner(1, "a"), CheckpointId(0)), Base(EpochOwner(2, "b"), CheckpointId(5)))
    >>> [is_valid(EpochOwner(1, "a"), CheckpointId(id_), chain) for id_ in (5, 6)]
    [True, False]
    >>> is_valid(EpochOwner(2, "b"), CheckpointId(6), chain)
    True
    """
    return all(base.owner <= owner or checkpoint_id <= base.checkpoint_id for base in chain)
