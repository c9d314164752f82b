"""An installation of the release before is brought up to this one: what was said and indexed is still there."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from docker_engine import Engine
from docker_images import builds_with_the_machines_network
from docker_stack import DEPLOY, Stack, settings_for

from embedded.product import copy_of

ROOT = DEPLOY.parent
AMBER = "What is the amber valve recovery code?"
OURS = ("contracts", "chassis", "services", "deploy/embedded", "deploy/Dockerfile", "deploy/compose.yaml")
"""What a release consists of, as far as its images go."""
HOLDING = ("retriever", "ingestor", "agent", "web")
"""What holds data, or reads it; the voice gateway holds calls alone, and is the largest to build."""


@pytest.fixture
def before(engine: Engine, images: str, place: Path, handbook: Path) -> Iterator[Stack]:
    """An installation of its own, of the release before, asleep; what it says is typed."""
    tree, name = release_before(place)
    folder = copy_of(handbook, place / "upgraded")
    beside = (builds_with_the_machines_network(place),) if images == "stand-ins" else ()
    settings = {**settings_for(folder), "TALKDOWN_VERSION": name, "TALKDOWN_VOICE": "simulated"}
    stack = Stack(engine, "talkdown-upgrade", folder, settings, beside=beside, deploy=tree / "deploy")
    stack.down()
    try:
        stack.build(*HOLDING)
        engine.run("tag", "talkdown/voice-gateway:0.1.0", f"talkdown/voice-gateway:{name}")
        yield stack
    finally:
        stack.down()
        for service in (*HOLDING, "voice-gateway"):
            engine.run("image", "rm", f"talkdown/{service}:{name}", check=False)


def release_before(place: Path) -> tuple[Path, str]:
    """The tree of the commit before the last that changed what images consist of; this tree where there is none."""
    told = git("log", "--format=%H", "--max-count=2", "--", *OURS)
    commits = told.stdout.split()
    if len(commits) == 2 and git("cat-file", "-e", f"{commits[1]}:deploy/Dockerfile").returncode == 0:
        tree = place / "before"
        tree.mkdir()
        archive = place / "before.tar"
        assert git("archive", "--output", str(archive), commits[1]).returncode == 0
        subprocess.run(["tar", "-xf", str(archive), "-C", str(tree)], check=True)
        return tree, f"before-{commits[1][:8]}"
    return ROOT, "before-the-first"


def git(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A question to git about this repository."""
    return subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)


@pytest.mark.behaviour("C4", "T5")
def test_an_upgrade_keeps_chats_and_index_and_embeds_nothing_again(before: Stack) -> None:
    before.up()
    before.save("old.md", "# Old\n\nBefore the upgrade the orangery was painted indigo.\n")
    before.until(lambda: "indigo" in before.ask("What colour was the orangery painted?").text)
    chat = str(uuid4())
    assert "ORCHID-47" in (said := before.ask(AMBER, chat)).text
    corpus = before.corpus()
    old = {container["Id"]: container["Image"] for container in before.containers("agent")}

    before.deploy = DEPLOY
    before.up(TALKDOWN_VERSION="0.1.0")
    assert not old.keys() & {container["Id"] for container in before.containers("agent")}, "nothing was replaced"

    assert before.embedded_nothing_since(corpus)
    turns = before.instance.ask_json("GET", f"/api/chats/{chat}")["turns"]
    assert [(turn["turn_id"], turn["status"]) for turn in turns] == [(said.turn_id, "completed")]
    assert "ORCHID-47" in before.ask(AMBER, chat).text
    assert "indigo" in before.ask("What colour was the orangery painted?").text
