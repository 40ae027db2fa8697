"""Evidence that a checkpoint was complete, apart from its manifest: then a manifest that is gone is missed. Pure.

Theory of operation
-------------------
A manifest that is torn, empty or missing may be one of two things. Its write never came to an end: then no driver has
acted upon the checkpoint, and the one before it is the latest. Or it was whole once, its sinks have committed, and it
was damaged since: then to start from the one before it would write output twice. The manifest cannot tell which.

So the driver writes a second file, in this order:

    1  the manifest                  it is whole: the checkpoint may be restored from now on
    2  the evidence                  the checkpoint is known to have been complete, whatever becomes of 1
    3  look for later drivers        none: 1 and 2 count
    4  tell the subtasks, commit     only now

    manifest               evidence    the checkpoint
    whole                  either      is complete
    torn, empty, missing   none        never was: nothing came behind 1
    torn, empty, missing   there       was complete, and is damaged
    whole, but another     there       is damaged: another file was put in its place

All that the evidence says stands in its name, so evidence cannot be torn itself: a listing shows it, or does not. The
epoch and nonce are those of the driver that stored the manifest, so that the chain decides whether it counts, as it
does for the manifest. A driver that restores from a manifest without evidence (its driver died between 1 and 2, or was
of an older release) writes the evidence before anything is committed.

Evidence goes when that of a newer checkpoint is there: from then on nothing starts from the older one unasked.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, final

from headgate.checkpoint import paths
from headgate.checkpoint.drivers.epochs import Chain, EpochOwner, is_valid, parse_owner
from headgate.ids import CheckpointId

_FOLDER: Final = f"{paths.COMPLETE}/"
_NAME: Final = re.compile(r"([1-9][0-9]*)-([0-9]+-[0-9a-z]*)-([0-9a-f]{64})(-stop)?")


@final
@dataclass(frozen=True, slots=True)
class CompletionEvidence:
    """Says that `owner` has completed a checkpoint; `stop`: recorded the savepoint that the job ends with.

    `digest` is of the manifest, or of the record of the stop, as it was written.
    """

    checkpoint_id: CheckpointId
    owner: EpochOwner
    digest: str
    stop: bool = False

    @property
    def path(self) -> str:
        """Return the path of the file, in the job's folder.

        >>> CompletionEvidence(CheckpointId(42), EpochOwner(2, "5f"), digest_of(b"")).path
        '_complete/42-2-5f-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
        """
        return f"{_FOLDER}{self.checkpoint_id}-{self.owner}-{self.digest}{'-stop' if self.stop else ''}"


def digest_of(data: bytes) -> str:
    """Return the digest of a file by its contents."""
    return hashlib.sha256(data).hexdigest()


def evidence_in(listing: Iterable[str]) -> list[CompletionEvidence]:
    """Return the evidence among these paths.

    >>> evidence_in(["_complete/notes", "chk-3/_metadata"])
    []
    """
    return [found for path in listing if path.startswith(_FOLDER) and (found := _parse(path)) is not None]


def _parse(path: str) -> CompletionEvidence | None:
    found = _NAME.fullmatch(path.removeprefix(_FOLDER))
    owner = None if found is None else parse_owner(found[2])
    if found is None or owner is None:
        return None
    return CompletionEvidence(CheckpointId(int(found[1])), owner, found[3], found[4] is not None)


def that_counts(evidence: Iterable[CompletionEvidence], chain: Chain) -> dict[CheckpointId, CompletionEvidence]:
    """Return, by checkpoint, the evidence of drivers that owned the job when they wrote it."""
    return {each.checkpoint_id: each for each in evidence if is_valid(each.owner, each.checkpoint_id, chain)}


def outdated_evidence(listing: Iterable[str], keep: Iterable[CheckpointId]) -> list[str]:
    """Return the evidence that is not needed while these complete checkpoints are kept.

    None is, unless the newest kept one has evidence of its own, which therefore is durable; nor is any of a newer one.
    """
    files, kept = list(listing), frozenset(keep)
    newest = max(kept, default=CheckpointId(0))
    if all(each.checkpoint_id != newest for each in evidence_in(files)):
        return []
    written = {path: each for path in files for each in evidence_in([paths.target_of(path)])}
    return [path for path, of in written.items() if of.checkpoint_id < newest and of.checkpoint_id not in kept]
