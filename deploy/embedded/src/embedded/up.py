"""``talkdown up FOLDER``: the whole product on this machine, put together here.

::

    talkdown up ─┬─ watchdog                ends the others if this process is killed
                 ├─ PostgreSQL, Valkey      on free ports of the loopback
                 ├─ ingestor, retriever, agent, voice-gateway, web: each python -m NAME
                 └─ in this process: the OTLP receiver, the trace page, GET /services
"""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from pathlib import Path
from socket import socket

from embedded.data import DataFolder, Run
from embedded.folder import checked_folder, first_markdown
from embedded.indexing import show_indexing
from embedded.leftovers import end_leftovers
from embedded.named_files import current_folder, with_whole_paths
from embedded.ports import LOOPBACK, listen
from embedded.screen import Screen
from embedded.servers import Servers
from embedded.services import MODULES, Places, environment, service
from embedded.settings import Settings
from embedded.supervisor import Supervisor
from embedded.welcome import say_indexed, say_voice, say_waiting, say_welcome


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line."""

    folder: Path
    host: str = LOOPBACK
    port: int = 3000
    data: Path | None = None
    mode: str | None = None


@dataclass(frozen=True)
class Plan:
    """What is known before anything is started."""

    folder: Path
    data: DataFolder
    places: Places
    traces: socket
    settings: Settings
    run: Run
    inherited: Mapping[str, str]


def up(options: Options, screen: Screen) -> None:
    """Run the product until it is asked to stop; an :class:`EmbeddedError` says why it cannot."""
    began = time.monotonic()
    folder = checked_folder(options.folder)
    data = DataFolder.of(folder, options.data)
    data.make()
    with ExitStack() as held:
        held.enter_context(data.held())
        places = held.enter_context(closing(Places.bind(options.host, options.port)))
        traces = held.enter_context(closing(listen(LOOPBACK, 0)))
        end_leftovers(data)
        settings = Settings.read(os.environ)
        inherited = with_whole_paths(os.environ, current_folder())
        run = Run(
            pid=os.getpid(),
            folder=str(folder),
            data=str(data.path),
            url=f"http://localhost:{places.port('web')}",
            port=places.port("web"),
            token=secrets.token_urlsafe(24),
            mode=options.mode or settings.mode,
            traces=f"http://{LOOPBACK}:{traces.getsockname()[1]}",
            services={name: places.url(name) for name in MODULES},
        )
        screen.say(f"Watching {folder}")
        if first_markdown(folder) is None:
            screen.say("There is no Markdown in it yet: save a .md file there, and it is found at once.")
        screen.say(f"Data in {data.path} (kept between runs; delete it to start over)")
        try:
            asyncio.run(_run(Plan(folder, data, places, traces, settings, run, inherited), screen, began))
        finally:
            data.forget_run()
        screen.say("Stopped. The data stays where it is.")


async def _run(plan: Plan, screen: Screen, began: float) -> None:
    run = plan.run

    def changed() -> None:
        plan.data.write_run(replace(run, children=supervisor.processes()))

    supervisor = Supervisor(plan.data, changed)
    _cancel_on_signals(supervisor, screen)
    try:
        async with supervisor:
            servers = Servers.of(plan.data, plan.settings)
            if await asyncio.to_thread(servers.prepare):
                screen.say("Made its database.")
            supervisor.start(*servers.children)
            await supervisor.until_ready(servers.children)
            shared = _shared(plan, servers)
            told = environment(plan.places, folder=plan.folder, data=plan.data, shared=shared, inherited=plan.inherited)
            services = [service(name, plan.places, told, plan.data) for name in MODULES]
            supervisor.start(*services)
            supervisor.beside(_serve_traces(plan.traces, supervisor))
            indexing = supervisor.beside(show_indexing(plan.places.port("retriever"), screen))
            waiting = supervisor.beside(say_waiting(services, plan.places, screen))
            await supervisor.until_ready(services)
            waiting.cancel()
            run = replace(run, ready=True)
            changed()
            say_welcome(screen, run, time.monotonic() - began)
            supervisor.beside(say_voice(plan.places, screen))
            indexing.add_done_callback(lambda done: say_indexed(screen, done))
            await supervisor.forever()
    except asyncio.CancelledError:
        return


def _shared(plan: Plan, servers: Servers) -> dict[str, str]:
    """What all services are told the same."""
    return {
        "TALKDOWN_MODE": plan.run.mode,
        "TALKDOWN_POSTGRES_URL": servers.postgres_url,
        "TALKDOWN_REDIS_URL": servers.redis_url,
        "TALKDOWN_OTLP_ENDPOINT": plan.settings.otlp_endpoint or plan.run.traces,
        "TALKDOWN_JAEGER_URL": plan.settings.jaeger_url or plan.run.traces,
        "TALKDOWN_SUPERVISOR_URL": plan.run.traces,
        "TALKDOWN_CLI_TOKEN": plan.run.token,
    }


def _cancel_on_signals(supervisor: Supervisor, screen: Screen) -> None:
    """The first signal stops in good order, the second at once."""
    main = asyncio.current_task()
    assert main is not None
    asked = False

    def on_signal() -> None:
        nonlocal asked
        if asked:
            supervisor.kill()
            return
        asked = True
        screen.say("\nStopping: running answers have 8 seconds (once more stops at once)...")
        main.cancel()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, on_signal)


async def _serve_traces(bound: socket, supervisor: Supervisor) -> None:
    # Imported here: the services' processes start first, and spans wait in the socket's queue meanwhile.
    from embedded.traces.app import app
    from embedded.traces.serving import serve
    from embedded.traces.store import TraceStore

    await serve(app(TraceStore(), supervisor.states), bound)
