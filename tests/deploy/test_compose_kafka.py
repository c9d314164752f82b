"""Kafka laid over the stack: the same questions, the same saves, and the broker killed and cut off."""

from __future__ import annotations

import pytest
from docker_stack import Stack

AMBER = "What is the amber valve recovery code?"
COLOUR = "What colour was the orangery painted?"
HEALS_WITHIN_S = 120.0


@pytest.fixture
def on_kafka(stack: Stack) -> Stack:
    """The shared stack with the overlay."""
    stack.up("kafka")
    return stack


@pytest.mark.behaviour("E1", "C12")
def test_with_kafka_in_the_place_of_redis_streams_questions_and_saves_go_on(on_kafka: Stack) -> None:
    addresses = {
        container["Config"]["Labels"]["com.docker.compose.service"]: dict(
            line.partition("=")[::2] for line in container["Config"]["Env"]
        ).get("TALKDOWN_BUS_URL")
        for container in on_kafka.containers()
    }
    assert {addresses[name] for name in ("web", "agent", "retriever", "ingestor")} == {"kafka://kafka:9092"}
    streams = on_kafka.execute("redis", "redis-cli", "keys", "talkdown.*")
    on_kafka.execute("redis", "redis-cli", "del", *streams.split(), "none")

    answer = on_kafka.ask(AMBER)
    assert "ORCHID-47" in answer.text
    assert any("ORCHID-47" in source.text for source in answer.cited)
    assert "unchanged" in on_kafka.execute("web", "talkdown", "refresh")
    saved(on_kafka, "cobalt")

    on_kafka.crash("kafka")
    assert "ORCHID-47" in on_kafka.ask(AMBER).text, "a question needs no broker that is up: its hint may be lost"
    on_kafka.until(on_kafka.is_calm, bound_s=HEALS_WITHIN_S)
    saved(on_kafka, "umber")

    with on_kafka.cut("kafka"):
        file = on_kafka.save("kafka.md", "# Kafka\n\nThe orangery was painted saffron.\n")
        assert "ORCHID-47" in on_kafka.ask(AMBER).text
    on_kafka.until(lambda: "saffron" in on_kafka.ask(COLOUR).text, bound_s=HEALS_WITHIN_S)
    file.unlink()
    left = on_kafka.execute("redis", "redis-cli", "keys", "talkdown.*").split()
    assert left == [], "events still go to Redis"


def saved(stack: Stack, colour: str) -> None:
    """A note is saved, answers, and leaves."""
    documents = stack.corpus().documents
    file = stack.save("kafka.md", f"# Kafka\n\nThe orangery was painted {colour}.\n")
    stack.until(lambda: colour in stack.ask(COLOUR).text, bound_s=HEALS_WITHIN_S)
    file.unlink()
    stack.until(lambda: stack.corpus().documents == documents, bound_s=HEALS_WITHIN_S)
