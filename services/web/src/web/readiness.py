"""When web is ready: when a question can be answered."""

from __future__ import annotations

from chassis.health import Health, Probe
from contracts.refreshes import CorpusState
from web.behind import Behind, Service
from web.errors import NotThere


def watch_readiness(health: Health, behind: Behind) -> None:
    """Make web's readiness that of the agent and the retriever, and its corpus that of the retriever."""
    latest: list[CorpusState | None] = [None]

    def asks(service: Service, *, owns_corpus: bool) -> Probe:
        async def probe() -> str | None:
            try:
                ready = await service.ready()
            except NotThere:
                return "it does not answer"
            if owns_corpus:
                latest[0] = ready.corpus
            if ready.status == "ready":
                return None
            return "; ".join(f"{waiting.on}: {waiting.why}" for waiting in ready.waits_for) or ready.status

        return probe

    health.check("agent", asks(behind.agent, owns_corpus=False))
    health.check("retriever", asks(behind.retriever, owns_corpus=True))
    health.corpus = lambda: latest[0]
