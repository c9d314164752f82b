"""Which running instance a command speaks to: the one that is named, else the only one there is."""

from __future__ import annotations

import http.client
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from embedded.data import DataFolder, Run, running_instances
from embedded.errors import EmbeddedError, NoInstance

TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Instance:
    """Where an instance is reached, and the credential that lets a command change something there."""

    url: str
    token: str
    run: Run | None = None

    def request(
        self, method: str, path: str, body: object = None, timeout_s: float | None = TIMEOUT_S
    ) -> http.client.HTTPResponse:
        """Send a request; the answer is read by the caller. :class:`NoInstance` when nothing answers there."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname or "localhost", parts.port or 80, timeout=timeout_s)
        headers = {
            "authorization": f"Bearer {self.token}",
            "content-type": "application/json",
            "connection": "close",  # so that the answer owns its socket, and closes it when it was read
        }
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            return connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise NoInstance(f"Talkdown does not answer at {self.url} ({error}). Look at: talkdown doctor") from None

    def ask_json(self, method: str, path: str, body: object = None, timeout_s: float | None = TIMEOUT_S) -> Any:
        """Send a request and read its JSON; a refusal raises its own sentence."""
        answer = self.request(method, path, body, timeout_s)
        try:
            said = json.loads(answer.read())
        except (ValueError, OSError, http.client.HTTPException):
            raise EmbeddedError(f"{self.url}{path} answered {answer.status} with no JSON.") from None
        if answer.status >= 400:
            raise EmbeddedError(str(said.get("message", f"{path} answered {answer.status}.")))
        return said


def find(port: int | None = None, data: Path | None = None) -> Instance:
    """The instance to speak to; :class:`NoInstance` when there is none, or several and none was named.

    ``TALKDOWN_CLI_TOKEN`` in the environment means that this is web's own container: the instance is here.
    """
    if data is not None:
        folder = DataFolder(data.expanduser().resolve())
        run = folder.read_run() if folder.is_held() else None
        if run is None:
            raise NoInstance(
                f"No Talkdown runs with the data folder {data}. Start one: talkdown up FOLDER --data {data}"
            )
        return _of(run)
    running = running_instances()
    if port is not None:
        for run in running:
            if run.port == port:
                return _of(run)
        raise NoInstance(f"No Talkdown of yours runs on port {port}.{_list(running)}")
    token = os.environ.get("TALKDOWN_CLI_TOKEN")
    if token:
        url = os.environ.get("TALKDOWN_URL") or f"http://127.0.0.1:{os.environ.get('TALKDOWN_PORT') or 3000}"
        return Instance(url, token)
    if not running:
        raise NoInstance("No Talkdown of yours is running. Start one: talkdown up FOLDER")
    if len(running) > 1:
        raise NoInstance(f"Several are running; say which with --port.{_list(running)}")
    return _of(running[0])


def _of(run: Run) -> Instance:
    # The loopback's number rather than its name: the name may stand for ::1 first.
    return Instance(f"http://127.0.0.1:{run.port}", run.token, run)


def _list(running: list[Run]) -> str:
    return "".join(f"\n  --port {run.port}  {run.folder}" for run in running)
