"""Every message by the name that its schema and its example carry."""

from __future__ import annotations

from contracts import corpus, events, frames, health, live, refreshes, search, turns, voice
from contracts.vocabulary import Message

FRAMES: dict[str, type[Message]] = {
    f"frame.{kind.model_fields['type'].default}": kind
    for kind in (
        frames.Accepted,
        frames.Status,
        frames.Sources,
        frames.Delta,
        frames.Sentence,
        frames.Done,
        frames.Error,
        frames.Snapshot,
    )
}

BODIES: dict[str, type[Message]] = {
    "retriever.search.request": search.SearchRequest,
    "retriever.search.response": search.SearchResult,
    "retriever.manifest": refreshes.Manifest,
    "retriever.refresh": search.RefreshState,
    "retriever.document": search.SourceText,
    "retriever.vocabulary": search.Vocabulary,
    "ingestor.refresh.request": refreshes.RefreshRequested,
    "ingestor.refresh.response": refreshes.RefreshReport,
    "ingestor.files": refreshes.Files,
    "agent.turn.request": turns.TurnAsked,
    "agent.turn.accepted": turns.TurnAccepted,
    "agent.turn": turns.Turn,
    "agent.turn.cancel": turns.CancelRequested,
    "agent.turn.heard": turns.Heard,
    "agent.chat": turns.Chat,
    "agent.chat.state": live.ChatState,
    "agent.chat.lines.told": live.LinesTold,
    "agent.chat.lines": live.ChatLines,
    "agent.chat.tokens": live.TokensTold,
    "agent.memory": live.TurnRemembered,
    "agent.memories": live.Memories,
    "agent.profile": live.ProfileCard,
    "agent.prefetch.request": turns.PrefetchAsked,
    "agent.prefetch.accepted": turns.PrefetchAccepted,
    "agent.prefetch.answer": turns.PrefetchedAnswer,
    "web.corpus": corpus.Corpus,
    "web.dead-letters": corpus.DeadLetters,
    "web.dead-letter.replayed": corpus.Replayed,
    "voice.client-secret.request": voice.ClientSecretRequested,
    "voice.client-secret": voice.ClientSecret,
    "voice.live.offer": voice.LiveOffer,
    "voice.timeline": voice.Timeline,
    "health.live": health.Live,
    "health.ready": health.Ready,
    "refusal": turns.Refusal,
}

EVENTS: dict[str, type[Message]] = {events.type_of(kind): kind for kind in events.EVENTS}

MESSAGES: dict[str, type[Message]] = {**EVENTS, **FRAMES, **BODIES}
"""Name to model, for all that is said."""
