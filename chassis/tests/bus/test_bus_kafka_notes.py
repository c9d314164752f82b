"""How Kafka's partitions are shared out, and what the note beside an offset says (E1)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chassis.bus.kafka_progress import UNNOTED, Note, Progress
from chassis.bus.kafka_sharing import Claim, Sharing, share_out
from chassis.bus.wire import Delivery

pytestmark = pytest.mark.behaviour("E1")

claims = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2),
    st.builds(Claim, st.frozensets(st.integers(0, 9)), st.integers(0, 3)),
    min_size=1,
    max_size=6,
)


def delivery(offset: int) -> Delivery:
    return Delivery(0, [b"%d" % offset], b"t", b"i", b"k", b"", b"", b"")


@given(claims, st.integers(0, 8))
def test_every_partition_has_one_owner_and_the_fair_shares_make_up_the_whole(
    claims: dict[str, Claim], count: int
) -> None:
    shares = share_out(range(count), claims)
    assert sorted(partition for share in shares.values() for partition in share.partitions) == list(range(count))
    fair = [share.fair for share in shares.values()]
    assert sum(fair) == count
    assert max(fair) - min(fair) <= 1


@given(claims)
def test_what_one_member_alone_has_in_hand_stays_its(claims: dict[str, Claim]) -> None:
    shares = share_out(range(8), claims)
    for member, claim in claims.items():
        others = {partition for name, other in claims.items() if name != member for partition in other.partitions}
        assert set(claim.partitions) & set(range(8)) - others <= set(shares[member].partitions)


def test_what_two_claim_is_the_later_one_s() -> None:
    shares = share_out(range(4), {"stood-still": Claim([0, 1, 2, 3], 5), "took-over": Claim([0, 1, 2, 3], 6)})
    assert (shares["stood-still"].partitions, shares["took-over"].partitions) == ([], [0, 1, 2, 3])
    assert (shares["stood-still"].fair, shares["took-over"].fair) == (2, 2)


class _Cluster:
    @staticmethod
    def partitions_for_topic(_topic: str) -> set[int]:
        return set(range(4))


def test_who_joins_again_without_a_commit_since_does_not_outbid_the_one_that_took_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stale, owner = Sharing("turns", lambda: {0, 1, 2, 3}), Sharing("turns", lambda: {0, 1, 2, 3})
    for at, member, name in ((1.0, stale, "a"), (2.0, owner, "b")):
        monkeypatch.setattr("chassis.bus.kafka_sharing.time.time", lambda at=at: at)
        member.on_assignment(member.assign(_Cluster, {name: member.metadata(["turns"])})[name])
        member.confirm()
    stale.on_assignment(stale.assign(_Cluster, {"a": stale.metadata(["turns"])})["a"])
    said = {"a": stale.metadata(["turns"]), "b": owner.metadata(["turns"])}
    shared = stale.assign(_Cluster, said)
    assert dict(shared["a"].assignment) == {"turns": []}
    assert dict(shared["b"].assignment) == {"turns": [0, 1, 2, 3]}


@given(st.frozensets(st.integers(0, 2**40), max_size=400), st.integers(0, 9), st.integers(0, 2**40))
def test_a_note_reads_as_it_was_written_and_fits_beside_an_offset(
    open_: frozenset[int], ended: int, taken: int
) -> None:
    note = Note("0123456789abcdef", ended, taken, taken, tuple(sorted(open_)))
    assert Note.read(note.write()) == note


def test_the_note_of_a_long_row_of_open_events_fits_beside_an_offset() -> None:
    progress = Progress(10**12, Note(), "0123456789abcdef")
    for offset in range(10**12, 10**12 + 400 * 1000, 1000):
        progress.begin(offset)
    assert len(progress.mark()[1]) < 4096


@pytest.mark.parametrize("text", ["", None, "[]", "{}", "x", '["",1,2]', "[1,2,3,4,[null]]"])
def test_what_is_no_note_of_ours_says_nothing(text: str | None) -> None:
    assert Note.read(text) == Note()


def test_the_first_unsettled_event_is_committed_and_the_others_are_noted() -> None:
    progress = Progress(7, Note(), "one")
    assert [progress.begin(offset) for offset in (7, 8, 9, 10)] == [1, 1, 1, 1]
    progress.settle([b"8", b"10"])
    offset, text = progress.mark()
    assert (offset, Note.read(text)) == (7, Note("one", 0, 0, 11, (7, 9)))
    assert Note.read(text).unsettled(offset, 20) == 2 + 9
    after = Progress(offset, Note.read(text).seen_by("two", offset), "two")
    assert [bool(after.begin(offset)) for offset in (7, 8, 9, 10, 11)] == [True, False, True, False, True]


def test_what_an_owner_left_that_ended_is_taken_up_one_by_one_and_each_end_is_counted() -> None:
    left = Note("one", 0, 0, 9, (7, 8)).seen_by("two", 7)
    assert left.suspect == 9 + UNNOTED
    progress = Progress(7, left, "two")
    for offset in (7, 8):
        assert progress.begin(offset) == 1
        assert progress.waits(delivery(offset))
    (first,) = progress.turns()
    assert progress.turns() == []
    offset, text = progress.mark()
    again = Progress(offset, Note.read(text).seen_by("three", offset), "three")
    assert again.begin(7) == 2  # two ended with it alone in hand
    progress.settle(first.places)
    progress.alone = None
    (second,) = progress.turns()
    assert second.places == [b"8"]


def test_an_owner_that_leaves_in_good_order_leaves_nobody_suspect() -> None:
    progress = Progress(7, Note(), "one")
    progress.begin(7)
    offset, text = progress.mark(leaving=True)
    left = Note.read(text).seen_by("two", offset)
    assert (left.suspect, left.ended) == (0, 0)
    assert Progress(offset, left, "two").begin(7) == 1
