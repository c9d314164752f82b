"""The local model runs on this machine and tells nobody."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EMBEDS = """
import asyncio
from retriever.embedding import LocalEmbedder

async def main():
    embedder = await LocalEmbedder.load()
    await embedder.embed(["Does anybody listen?"])
    embedder.close()

asyncio.run(main())
"""


def test_embedding_writes_nothing_into_the_person_s_home(tmp_path: Path) -> None:
    """onnxruntime's own reports begin with a device id and a queue there; without them it has nothing to send."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "ORT_"))}
    subprocess.run([sys.executable, "-c", EMBEDS], env={**environment, "HOME": str(tmp_path)}, check=True, timeout=100)
    assert list(tmp_path.rglob("*")) == []
