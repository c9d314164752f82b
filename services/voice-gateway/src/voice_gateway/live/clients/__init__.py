"""The providers of live sessions, each behind :class:`~voice_gateway.live.port.RealtimeClient`."""
