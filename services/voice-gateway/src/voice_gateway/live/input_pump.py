"""What the person sends, on its way from the queue to the provider."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from voice_gateway.live.config import RealtimeConfig
from voice_gateway.live.connection import Connection
from voice_gateway.live.events import Failure, RealtimeEvent
from voice_gateway.live.input_queue import Activity, Audio, Frame, Image, InputQueue, Silence, Text
from voice_gateway.live.port import RealtimeClient
from voice_gateway.live.resampling import Resampler
from voice_gateway.live.turns import Turns
from voice_gateway.live.unheard import Unheard


class InputPump:
    """Takes one frame after the other for as long as the session lives; while there is no connection the queue holds.

    ``make_room`` is awaited before a turn that begins by hand or in writing, so that an answer makes room for it, and
    ``stop`` where the person wanted silence while what they had asked before was still on its way.
    """

    def __init__(
        self,
        client: RealtimeClient,
        connection: Connection,
        turns: Turns,
        unheard: Unheard,
        tell: Callable[[RealtimeEvent], None],
        *,
        config: RealtimeConfig,
        make_room: Callable[[], Awaitable[None]],
        stop: Callable[[], Awaitable[None]],
    ) -> None:
        self._client, self._connection, self._turns, self._unheard = client, connection, turns, unheard
        self._tell, self._by_hand, self._make_room = tell, not config.vad.enabled, make_room
        self._stop = stop
        self._resamplers: dict[int, Resampler] = {}
        self._asking = self._unwanted = False

    async def run(self, queue: InputQueue) -> None:
        """Until the queue is closed and empty."""
        async for frame in queue:
            self._asking = isinstance(frame, Text | Activity)
            await self._take(frame)
            self._asking = False
            if self._unwanted:
                self._unwanted = False
                await self._stop()

    def silence_asked(self) -> None:
        """The person wants silence, and what they ask is perhaps just being sent."""
        self._unwanted = self._asking

    async def _take(self, frame: Frame) -> None:
        match frame:
            case Audio():
                await self._sound(frame)
            case Text(text=text) if text.strip():
                await self._make_room()
                await self._connection.send(lambda: self._say(text.strip()))
            case Text():
                pass
            case Silence():
                await self._stop()
            case Image() if not self._client.capabilities.images:
                self._refuse("no_images", "This voice provider takes no pictures.")
            case Image():
                await self._connection.send(lambda: self._client.send_image(frame.data, frame.mime_type))
            case Activity() if not self._by_hand:
                self._refuse("no_activity", "Turns are found by themselves here: switch vad.enabled off to mark them.")
            case Activity(kind=kind):
                if kind == "start" and self._client.capabilities.truncation:
                    await self._make_room()
                await self._connection.send(lambda: self._mark(frame))

    async def _sound(self, frame: Audio) -> None:
        rate = self._client.capabilities.input_rate
        resampler = self._resamplers.setdefault(frame.sample_rate, Resampler(frame.sample_rate, rate))
        pcm = resampler.take(frame.pcm)
        if pcm:
            await self._connection.send(lambda: self._hear(Audio(pcm, rate)))

    async def _hear(self, sound: Audio) -> None:
        self._unheard.sent(sound)
        await self._client.send_audio(sound.pcm)

    async def _mark(self, activity: Activity) -> None:
        self._unheard.sent(activity)
        await self._client.send_activity(activity.kind)

    async def _say(self, text: str) -> None:
        await self._turns.begin()
        self._turns.log.heard(text, finished=True)
        await self._client.send_text(text)

    def _refuse(self, code: str, message: str) -> None:
        self._tell(Failure(code=code, message=message))
