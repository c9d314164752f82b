"""A provider that takes no more questions for a moment, and says for how long, is asked once more then.

Only before the first word: nothing was written yet, so that nothing is answered twice (T10). The turn's deadline goes
on meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from agent.provider_errors import retry_after_s
from chassis.telemetry import happened

T = TypeVar("T")

LONGEST_S: Final = 8.0
"""Who is to wait longer is told so instead."""
WAITED: Final = "waited for the provider"
"""What happens in the span of a call that was refused at first."""


async def patiently(ask: Callable[[], Awaitable[T]]) -> T:
    """What is asked for, at the second attempt if the first was refused with a time to wait."""
    import openai

    try:
        return await ask()
    except openai.RateLimitError as refused:
        wait_s = retry_after_s(refused)
        if wait_s is None or wait_s > LONGEST_S or refused.code == "insufficient_quota":
            raise
    happened(WAITED)
    await asyncio.sleep(wait_s)
    return await ask()
