"""How the members of a group share a topic's partitions: who has one keeps it until it gives it up itself.

::

    members say what they have in hand --join--> the leader leaves them that, gives out what is free, and tells each its
                                                 fair share --> who has more takes no more of the surplus, and joins
                                                 again without it once nothing of it is in hand

So a newcomer stops nobody, and an event is never run twice because of one. The protocol of Kafka that does the same,
cooperative rebalancing, is not in aiokafka, whose assignors all take everything from everybody first.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from aiokafka.coordinator.assignors.abstract import AbstractPartitionAssignor
from aiokafka.coordinator.protocol import ConsumerProtocolMemberAssignment, ConsumerProtocolMemberMetadata


class Claim(NamedTuple):
    """The partitions that a member has in hand, and of which round of sharing it has them."""

    partitions: Collection[int]
    round: int


@dataclass(slots=True)
class Share:
    """What a member gets, and how many partitions it is to have in the end."""

    partitions: list[int]
    fair: int


def share_out(partitions: Iterable[int], claims: Mapping[str, Claim]) -> dict[str, Share]:
    """What each member gets: what it claims, unless another claims it of a later round, and a part of what is free."""
    free = set(partitions)
    shares = {member: Share([], 0) for member in claims}
    count = len(free)
    for member, claim in sorted(claims.items(), key=lambda item: (-item[1].round, item[0])):
        kept = free.intersection(claim.partitions)
        shares[member].partitions += kept
        free -= kept
    least, over = divmod(count, len(shares))
    for place, (_, share) in enumerate(sorted(shares.items(), key=lambda item: (-len(item[1].partitions), item[0]))):
        share.fair = least + (place < over)
    for partition in sorted(free):
        member = min(shares, key=lambda name: (len(shares[name].partitions) - shares[name].fair, name))
        shares[member].partitions.append(partition)
    return shares


class Sharing(AbstractPartitionAssignor):
    """One member's side of it; the leader's is every member's, since any may be chosen.

    A claim is of the last round in which the cluster took a commit of ours: whoever stood still and joins again may be
    given back what it had, but does not outbid a member that has it by now.
    """

    def __init__(self, topic: str, in_hand: Callable[[], Collection[int]]) -> None:
        self.fair = 0
        self._round = 0
        self._confirmed = 0
        self._topic = topic
        self._in_hand = in_hand

    @property
    def name(self) -> str:
        """How the protocol is called among the members of a group."""
        return "talkdown"

    def confirm(self) -> None:
        """What is in hand is ours by the round that was last."""
        self._confirmed = self._round

    def metadata(  # pyright: ignore[reportIncompatibleMethodOverride] - a class method there, which has no state
        self, topics: Iterable[str]
    ) -> ConsumerProtocolMemberMetadata:
        """What this member says as it joins."""
        said = orjson.dumps([sorted(self._in_hand()), self._confirmed])
        return ConsumerProtocolMemberMetadata(0, list(topics), said)

    def assign(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, cluster: Any, members: Mapping[str, ConsumerProtocolMemberMetadata]
    ) -> dict[str, ConsumerProtocolMemberAssignment]:
        """What everybody gets, when this member is the leader."""
        claims = {name: Claim(*orjson.loads(member.user_data)) for name, member in members.items()}
        # Later than any round before, also of a group that has been empty meanwhile.
        round_ = max(int(time.time() * 1000), *(claim.round + 1 for claim in claims.values()))
        shares = share_out(cluster.partitions_for_topic(self._topic) or (), claims)
        return {
            name: ConsumerProtocolMemberAssignment(
                0, [(self._topic, share.partitions)], orjson.dumps([share.fair, round_])
            )
            for name, share in shares.items()
        }

    def on_assignment(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, assignment: ConsumerProtocolMemberAssignment
    ) -> None:
        """What this member got."""
        self.fair, self._round = orjson.loads(assignment.user_data)
