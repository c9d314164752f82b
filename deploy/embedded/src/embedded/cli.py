"""The command ``talkdown``. What a command needs is imported when it runs, so that each starts quickly."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from embedded.errors import EmbeddedError

application = typer.Typer(
    help="Talk to your Markdown.", no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)

Port = Annotated[int | None, typer.Option(help="The port of the running instance, when several run.")]
Data = Annotated[Path | None, typer.Option(help="The data folder of the running instance.")]


def main() -> None:
    """Run a command; what goes wrong is one sentence on stderr and exit code 1."""
    try:
        application()
    except EmbeddedError as error:
        from embedded.harmless import Shown

        Shown(sys.stderr).write(f"talkdown: {error}\n")
        raise SystemExit(1) from None


def _say_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"talkdown {version('talkdown')}")
        raise typer.Exit


@application.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Talk to your Markdown."""


@application.command()
def up(
    folder: Annotated[Path, typer.Argument(help="The folder of your notes.")],
    port: Annotated[int, typer.Option(min=0, max=65535, help="The page's port; 0 takes a free one.")] = 3000,
    host: Annotated[str, typer.Option(help="The address that the page is served on.")] = "127.0.0.1",
    data: Annotated[Path | None, typer.Option(help="Where data is kept; unset: one folder for each FOLDER.")] = None,
    mode: Annotated[
        Literal["local", "simulated", "live"] | None,
        typer.Option(help="Unset: TALKDOWN_MODE, else local, which needs no key and no network."),
    ] = None,
) -> None:
    """Run everything on FOLDER until Ctrl-C."""
    from embedded.screen import Screen
    from embedded.up import Options
    from embedded.up import up as run

    run(Options(folder, host, port, data, mode), Screen())


@application.command()
def ask(
    question: Annotated[str, typer.Argument(help="What you want to know.")],
    chat: Annotated[str | None, typer.Option(help="The id of the chat to go on with; unset: a new one.")] = None,
    port: Port = None,
    data: Data = None,
) -> None:
    """Ask a running instance; exit code 0: answered, 3: the notes do not say, 1: an error."""
    from embedded.ask import ask as put
    from embedded.harmless import Shown
    from embedded.instances import find

    raise SystemExit(put(find(port, data), question, chat, Shown(sys.stdout)))


@application.command()
def status(
    port: Port = None,
    data: Data = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print what GET /api/corpus answers.")] = False,
) -> None:
    """Show the folder, the index, and the services of a running instance; exit code 1 when a service is not ready."""
    from embedded.harmless import Shown
    from embedded.instances import find
    from embedded.status import show

    raise SystemExit(show(find(port, data), Shown(sys.stdout), as_json=as_json))


@application.command()
def refresh(
    rebuild: Annotated[bool, typer.Option(help="Read and cut every file anew.")] = False,
    port: Port = None,
    data: Data = None,
) -> None:
    """Compare the folder with the index now, and print what changed; exit code 1 when the refresh failed."""
    from embedded.harmless import Shown
    from embedded.instances import find
    from embedded.refresh import refresh as run

    raise SystemExit(run(find(port, data), Shown(sys.stdout), rebuild=rebuild))


@application.command()
def doctor(
    folder: Annotated[Path | None, typer.Argument(help="The folder of your notes, to be looked at too.")] = None,
    port: Annotated[int, typer.Option(help="The port that the page would use.")] = 3000,
    data: Data = None,
) -> None:
    """Say what on this machine would keep Talkdown from running, with the remedy; exit code 1 when something would."""
    from embedded.doctor import examine, show

    raise SystemExit(show(examine(folder, port, data), sys.stdout))
