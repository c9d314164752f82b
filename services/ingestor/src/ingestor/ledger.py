"""The ledger: what was seen of every file, and what the index holds of it, as far as this process knows.

Nothing of it is stored. What the index holds comes from the retriever's manifest; what was sent since, and is not
visible yet, is remembered until it is, or until it is taken for lost.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from contracts.refreshes import Manifest, SeenFile
from ingestor.reading import Reading
from ingestor.scanning import Mark, Place, Refusal

__all__ = ["Ledger", "Sent", "Standing"]

# A mark tells two states of a file apart only when the clock of its file system moved between them; FAT's takes 2 s.
_TRUSTED_AFTER_NS = 2_000_000_000


@dataclass(frozen=True, slots=True)
class Standing:
    """What the index holds of a path, or will; ``sha256`` is null when the document is to be gone."""

    revision: int
    sha256: str | None
    chunker: str = ""


@dataclass(frozen=True, slots=True)
class Sent:
    """A revision that was published and is not known to be visible; ``at`` on the monotonic clock, in seconds."""

    refresh_id: UUID
    standing: Standing
    at: float


class Ledger:
    """Every file that was seen, and what is known of it."""

    def __init__(self) -> None:
        self.seen: dict[str, SeenFile] = {}
        self.held: dict[str, Standing] = {}
        self.sent: dict[str, Sent] = {}
        self.blocked: dict[str, tuple[str | None, str]] = {}
        self._last_sent: dict[str, Standing] = {}
        self._marks: dict[str, tuple[Mark, str]] = {}

    def standing(self, path: str) -> Standing | None:
        """The newest that the index is known to hold of a path, or to have been sent."""
        held, sent = self.held.get(path), self.sent.get(path)
        if sent and not (held and held.revision >= sent.standing.revision):
            return sent.standing
        return held

    def next_revision(self, path: str) -> int:
        """A revision above any that is known of the path, on a clock that other ingestors share: Unix microseconds."""
        known = max((one.revision for one in (self.held.get(path), self.sent_standing(path)) if one), default=0)
        return max(known + 1, time.time_ns() // 1000)

    def sent_standing(self, path: str) -> Standing | None:
        """What was sent of a path and is not known to be visible."""
        sent = self.sent.get(path)
        return sent.standing if sent else None

    def known_below(self, below: Iterable[str]) -> list[str]:
        """The paths of documents that the index holds, or will, at or below some paths of the folder."""
        known = [path for path in {*self.held, *self.sent} if (one := self.standing(path)) and one.sha256]
        exact = frozenset(below)
        if "" in exact:
            return sorted(known)
        prefixes = tuple(f"{path}/" for path in exact)
        return sorted(path for path in known if path in exact or path.startswith(prefixes))

    def take_manifest(self, manifest: Manifest) -> None:
        """Believe the retriever: what it shows is held, and what it shows no longer is not."""
        self.held = {entry.path: Standing(entry.revision, entry.sha256, entry.chunker) for entry in manifest.documents}
        for path, sent in list(self.sent.items()):
            held = self.held.get(path)
            gone = held is None and sent.standing.sha256 is None
            if gone or (held and held.revision >= sent.standing.revision):
                del self.sent[path]

    def note_sent(self, refresh_id: UUID, standings: dict[str, Standing]) -> None:
        """Remember what was published as a part of a refresh."""
        now = time.monotonic()
        for path, standing in standings.items():
            self.sent[path] = Sent(refresh_id, standing, now)
            self._last_sent[path] = standing

    def settle(self, refresh_id: UUID, *, visible: bool) -> bool:
        """A refresh became visible, or failed: then what it sent was never sent. Says whether it concerned anything."""
        concerned = [(path, sent) for path, sent in self.sent.items() if sent.refresh_id == refresh_id]
        for path, sent in concerned:
            del self.sent[path]
            if not visible:
                continue
            if sent.standing.sha256 is None:
                self.held.pop(path, None)
            else:
                self.held[path] = sent.standing
            self.blocked.pop(path, None)
        return bool(concerned)

    def lost(self, refresh_ids: Iterable[UUID]) -> None:
        """Take what was sent with these refreshes for lost."""
        for refresh_id in refresh_ids:
            self.settle(refresh_id, visible=False)

    def waiting(self, older_than_s: float) -> set[UUID]:
        """The refreshes of which something was sent that long ago and is not visible."""
        then = time.monotonic() - older_than_s
        return {sent.refresh_id for sent in self.sent.values() if sent.at <= then}

    def block(self, path: str, revision: int, reason: str) -> None:
        """The index could not take a document: it is sent apart from others until it is taken or changes."""
        known = self._last_sent.get(path)
        if known and known.revision == revision:
            self.blocked[path] = (known.sha256, reason)

    def is_blocked(self, path: str, sha256: str) -> bool:
        """Say whether the index refused this very content."""
        return path in self.blocked and self.blocked[path][0] == sha256

    def hash_of(self, place: Place) -> str | None:
        """The hash of a file that cannot have changed since it was read; nothing when it may have."""
        mark, sha256 = self._marks.get(place.path, (None, ""))
        return sha256 if mark == place.mark else None

    def note_reading(self, reading: Reading, notice: str | None = None) -> None:
        """Write down a file that was taken."""
        path, mark = reading.path, reading.mark
        if time.time_ns() - max(mark.modified_ns, mark.changed_ns) > _TRUSTED_AFTER_NS:
            self._marks[path] = (mark, reading.sha256)
        else:
            self._marks.pop(path, None)
        old = self.seen.get(path)
        if notice is None and old and old.state == "accepted" and old.sha256 == reading.sha256:
            notice = old.reason
        self.seen[path] = SeenFile(
            path=path,
            state="accepted",
            reason=notice,
            bytes=len(reading.data),
            sha256=reading.sha256,
            saved_at=reading.saved_at,
        )

    def note_refusals(self, refusals: Iterable[Refusal]) -> None:
        """Write down files that were not taken."""
        for refusal in refusals:
            self._marks.pop(refusal.path, None)
            self.seen[refusal.path] = SeenFile(path=refusal.path, state="rejected", reason=refusal.reason)

    def note_gone(self, paths: Iterable[str]) -> None:
        """Forget files that are no longer there."""
        for path in paths:
            self.seen.pop(path, None)
            self._marks.pop(path, None)
            self.blocked.pop(path, None)
            self._last_sent.pop(path, None)

    def keep_only(self, paths: Iterable[str], below: Iterable[str]) -> None:
        """Forget what was seen at or below some paths of the folder, but for these."""
        kept, exact = frozenset(paths), frozenset(below)
        prefixes = tuple(f"{path}/" for path in exact)
        everything = "" in exact
        self.note_gone(
            [
                path
                for path in self.seen
                if path not in kept and (everything or path in exact or path.startswith(prefixes))
            ]
        )

    def files(self) -> tuple[SeenFile, ...]:
        """Every file as it was seen, by path, with its newest revision and what the index said of it."""
        return tuple(self._as_known(self.seen[path]) for path in sorted(self.seen))

    def _as_known(self, file: SeenFile) -> SeenFile:
        standing = self.standing(file.path)
        if file.state == "accepted" and file.sha256 and self.is_blocked(file.path, file.sha256):
            reason = f"The index could not take it: {self.blocked[file.path][1]}"
            return file.model_copy(update={"state": "rejected", "reason": reason})
        return file.model_copy(update={"revision": standing.revision if standing else None})
