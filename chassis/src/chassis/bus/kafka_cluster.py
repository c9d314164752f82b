"""What the bus keeps on a Kafka cluster: its topics, and what its groups have committed.

A topic keeps everything until every group has handled it: it is made without a limit of age or size, and trimmed up to
the lowest offset that any group has committed. The dead letters alone are kept for a time, ``retention.ms``.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Collection, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, TopicAlreadyExistsError, for_code

from chassis.bus.errors import BusError, BusUnavailable
from chassis.bus.kafka_progress import Note
from chassis.bus.port import Options
from chassis.bus.wire import STREAM_PREFIX
from contracts.events import STREAMS

log = logging.getLogger(__name__)

SHORTEST_SESSION_S = 6.0
"""What a broker that does not tell its own allows: the default of ``group.min.session.timeout.ms``."""
ANSWERS_WITHIN_S = 5.0
"""Of what is asked about topics: about one that is gone aiokafka goes on asking for as long as it may."""
LETTERS_KEPT_MS = 30 * 24 * 3600 * 1000
LAST_GREETING_S = 1.0
SEGMENT_BYTES, SEGMENT_MS = 64 * 1024 * 1024, 3600 * 1000
"""Space is freed by whole segments, so they are smaller and younger than a broker's own."""


@dataclass(frozen=True, slots=True)
class Names:
    """How topics and groups are called; ``prefix`` is the name in the bus's address, for several on one cluster."""

    prefix: str = STREAM_PREFIX

    @property
    def dead(self) -> str:
        """The topic of the dead letters."""
        return f"{self.prefix}.dead"

    def topic(self, stream: str) -> str:
        """The topic of a stream."""
        return f"{self.prefix}.{stream}"

    def group(self, stream: str, group: str) -> str:
        """A group of a stream; it begins with what all groups of the stream begin with."""
        return f"{self.prefix}.{stream}.{group}"


class Cluster:
    """Asks a cluster about topics and groups, over connections of its own."""

    def __init__(self, servers: str, names: Names, options: Options) -> None:
        self.servers = servers
        self.names = names
        self.session_s = max(options.lease_s, SHORTEST_SESSION_S)
        self._options = options
        self._admin: Any = None
        self._reader: Any = None

    async def open(self) -> None:
        """Connect, make the topics that are not there, and learn how short a session may be; raises KafkaError."""
        await self.close()
        within_ms = int(min(self._options.publish_within_s, ANSWERS_WITHIN_S) * 1000)
        self._admin = AIOKafkaAdminClient(bootstrap_servers=self.servers, request_timeout_ms=within_ms)
        await begin(self._admin)
        self._reader = AIOKafkaConsumer(
            bootstrap_servers=self.servers, request_timeout_ms=within_ms, enable_auto_commit=False
        )
        await begin(self._reader)
        await self.make_topics()
        self.session_s = max(self._options.lease_s, await self._shortest_session_s())

    async def close(self) -> None:
        """Close the connections."""
        admin, self._admin = self._admin, None
        reader, self._reader = self._reader, None
        if admin is not None:
            await admin.close()
        if reader is not None:
            await reader.stop()

    async def answers(self) -> str | None:
        """Nothing, or the sentence that says that the cluster is away."""
        try:
            await self._admin.describe_cluster()
        except KafkaError:
            return "Kafka does not answer"
        return None

    async def make_topics(self) -> None:
        """Make the topics that are not there; one that has another number of partitions stops the start."""
        lasting = {
            "retention.ms": "-1",
            "retention.bytes": "-1",
            "segment.bytes": str(SEGMENT_BYTES),
            "segment.ms": str(SEGMENT_MS),
        }
        wanted = {self.names.topic(stream): (self._options.partitions, lasting) for stream in STREAMS}
        wanted[self.names.dead] = (1, {"retention.ms": str(LETTERS_KEPT_MS)})
        known = {topic["topic"]: topic for topic in await self._admin.describe_topics(list(wanted))}
        # A factor of -1, which is the broker's own default, is taken only beside an empty list of replicas.
        missing = [
            NewTopic(name, partitions, -1, {}, settings)
            for name, (partitions, settings) in wanted.items()
            if name not in known or known[name]["error_code"]
        ]
        if missing:
            made = await self._admin.create_topics(missing)
            for name, code, message in made.topic_errors:
                if code and for_code(code) is not TopicAlreadyExistsError:
                    raise for_code(code)(f"{name}: {message}")
            log.info("topics were made", extra={"topics": len(missing)})
        for name, topic in known.items():
            there = len(topic["partitions"])
            if there and there != wanted[name][0]:
                raise BusError(
                    f"The topic {name} has {there} partitions, and {wanted[name][0]} are set: set "
                    f"TALKDOWN_BUS_PARTITIONS={there}, or delete the topic."
                )

    async def notes(self, stream: str, group: str, partitions: Collection[int]) -> dict[int, tuple[int, Note]]:
        """What a group has committed of partitions: the offset and the note beside it; none where it has nothing."""
        topic = self.names.topic(stream)
        places = [TopicPartition(topic, partition) for partition in partitions]
        told = await self._admin.list_consumer_group_offsets(self.names.group(stream, group), partitions=places)
        return {
            place.partition: (committed.offset, Note.read(committed.metadata))
            for place, committed in told.items()
            if committed.offset >= 0
        }

    async def first_offsets(self, stream: str, partitions: Collection[int]) -> dict[int, int]:
        """The oldest offset of partitions."""
        topic = self.names.topic(stream)
        places = [TopicPartition(topic, partition) for partition in partitions]
        told: dict[TopicPartition, int] = await self._reader.beginning_offsets(places) if places else {}
        return {place.partition: offset for place, offset in told.items()}

    async def lag(self, stream: str, group: str) -> int:
        """How many events of a stream a group has not handled."""
        everything = range(self._options.partitions)
        with refusals():
            ends: dict[TopicPartition, int] = await self._reader.end_offsets(
                [TopicPartition(self.names.topic(stream), partition) for partition in everything]
            )
            firsts = await self.first_offsets(stream, everything)
            notes = await self.notes(stream, group, everything)
        behind = 0
        for place, end in ends.items():
            offset, note = notes.get(place.partition, (firsts[place.partition], Note()))
            behind += note.unsettled(max(offset, firsts[place.partition]), end)
        return behind

    async def trim(self, stream: str, partitions: Collection[int]) -> None:
        """Remove what every group has handled and what is older than ``keep_s``."""
        topic = self.names.topic(stream)
        mine = f"{self.names.group(stream, '')}"
        groups = [name for name, *_ in await self._admin.list_consumer_groups() if name.startswith(mine)]
        places = [TopicPartition(topic, partition) for partition in partitions]
        since = int((time.time() - self._options.keep_s) * 1000)
        young = await self._reader.offsets_for_times(dict.fromkeys(places, since))
        ends = await self._reader.end_offsets(places)
        firsts = await self._reader.beginning_offsets(places)
        before = {place: young[place].offset if young[place] else ends[place] for place in places}
        for group in groups:
            committed = await self._admin.list_consumer_group_offsets(group, partitions=places)
            for place in places:
                before[place] = min(before[place], max(0, committed[place].offset) if place in committed else 0)
        surplus = {place: RecordsToDelete(offset) for place, offset in before.items() if offset > firsts[place]}
        if groups and surplus:
            await self._admin.delete_records(surplus)

    async def _shortest_session_s(self) -> float:
        name = "group.min.session.timeout.ms"
        try:
            broker = (await self._admin.describe_cluster())["brokers"][0]["node_id"]
            asked = ConfigResource(ConfigResourceType.BROKER, str(broker), {name: ""})
            (answer,) = await self._admin.describe_configs([asked])
            (_, _, _, _, entries) = answer.resources[0]
            return next(int(entry[1]) / 1000 for entry in entries if entry[0] == name)
        except (KafkaError, LookupError, StopIteration, ValueError) as error:  # not everybody may ask that
            log.info("the broker does not tell its shortest session", extra={"error": type(error).__name__})
            return SHORTEST_SESSION_S


async def begin(client: Any) -> None:
    """Start a client. It is not interrupted while it greets a broker: it would leave that connection open."""
    starting = asyncio.ensure_future(client.start())
    try:
        await asyncio.shield(starting)
    except asyncio.CancelledError:
        await asyncio.wait([starting], timeout=LAST_GREETING_S)
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        raise


@contextmanager
def refusals() -> Generator[None]:
    """What a cluster that is away raises, as our own error."""
    try:
        yield
    except KafkaError as error:
        raise BusUnavailable("Kafka does not answer; try again in a moment.") from error
