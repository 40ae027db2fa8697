"""Evidence, apart from its manifest, that a checkpoint was complete: so the loss of a manifest is noticed. Pure.

Theory of operation
-------------------
A torn, empty or missing manifest has one of two causes. Either its write never ended: then no driver has acted upon the
checkpoint, and the previous checkpoint is the latest. Or the manifest was whole, sinks have committed, and it was
damaged later: then a start from the previous checkpoint would write output twice. The manifest itself cannot tell.

So the driver writes a second file, in this order:

    1  the manifest                  it is whole: the checkpoint may be restored from now on
    2  the evidence                  the checkpoint is known to have been complete, even if 1 is lost later
    3  look for later drivers        if there is none: 1 and 2 count
    4  tell the subtasks, commit     only now

    manifest               evidence    the checkpoint
    whole                  either      is complete
    torn, empty, missing   none        never was complete: the driver stopped before 2
    torn, empty, missing   exists      was complete, and is damaged
    whole, other digest    exists      is damaged: another file has replaced the manifest

The evidence is the file's name, so it cannot be torn: a listing shows it, or does not. It contains epoch and nonce of
the driver that stored the manifest, so the chain decides whether it counts, as it does for the manifest. If a driver
restores from a manifest without evidence (the earlier driver died between 1 and 2, or was of an older release), it
writes the evidence before anything is committed.

Evidence is deleted when a newer checkpoint has evidence: from then on no restart uses the older checkpoint unasked.
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
    """Evidence that `owner` has completed a checkpoint, or, with `stop`, recorded the savepoint that the job ends with.

    `digest` is the SHA-256 of the manifest, or of the record of the stop.
    """

    checkpoint_id: CheckpointId
    owner: EpochOwner
    digest: str
    stop: bool = False

    @property
    def path(self) -> str:
        """The path of the file in the job's folder.

        >>> CompletionEvidence(CheckpointId(42), EpochOwner(2, "5f"), digest_of(b"")).path
        '_complete/42-2-5f-e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
        """
        return f"{_FOLDER}{self.checkpoint_id}-{self.owner}-{self.digest}{'-stop' if self.stop else ''}"


def digest_of(data: bytes) -> str:
    """Return the SHA-256 of a file's contents, in hexadecimal digits."""
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
    """Return the evidence that is not needed while the complete checkpoints `keep` are kept.

    While the newest kept checkpoint has no evidence of its own, all evidence is needed. So is all evidence of
    checkpoints newer than the kept ones.
    """
    files, kept = list(listing), frozenset(keep)
    newest = max(kept, default=CheckpointId(0))
    if all(each.checkpoint_id != newest for each in evidence_in(files)):
        return []
    written = {path: each for path in files for each in evidence_in([paths.target_of(path)])}
    return [path for path, of in written.items() if of.checkpoint_id < newest and of.checkpoint_id not in kept]
