"""The data folder of one run: what lasts, who uses it, and where a running instance is found.

::

    ~/.local/share/talkdown/handbook-1f2e3d4c/    one a watched folder; --data names another
        postgres/ postgres.password postgres.log  chats, answers, and the index
        valkey/ valkey.password valkey.log        the bus
        services/                                 what services keep beside them (a cache, to be deleted freely)
        logs/                                     one file a service, with one older file beside it
        lock                                      held while a run uses the folder
        run.json                                  where the run is reached (ours alone to read: it holds a token)
    ~/.local/state/talkdown/instances/            one pointer a data folder that was ever used

It is not inside the watched folder, which may be read-only, synchronised, or under version control.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path

import platformdirs

from embedded.errors import DataUnusable

APPLICATION = "talkdown"


@dataclass(frozen=True)
class Run:
    """A running instance: what ``run.json`` says."""

    pid: int
    folder: str
    data: str
    url: str
    port: int
    token: str
    mode: str
    traces: str
    services: dict[str, str]
    children: tuple[tuple[str, int, float], ...] = ()
    ready: bool = False


@dataclass(frozen=True)
class DataFolder:
    """The folder that a run keeps its data in."""

    path: Path

    @classmethod
    def of(cls, folder: Path, named: Path | None) -> DataFolder:
        """The data folder for a watched folder: the one that was named, else the folder's own below the user's data."""
        if named is None:
            key = sha256(str(folder).encode()).hexdigest()[:8]
            named = platformdirs.user_data_path(APPLICATION, appauthor=False) / f"{folder.name or 'root'}-{key}"
        path = named.expanduser().resolve()
        if path == folder or folder in path.parents:
            raise DataUnusable(
                f"The data folder {path} is inside the watched folder {folder}, and would be watched with it."
                " Choose one outside with --data."
            )
        return cls(path)

    @property
    def logs(self) -> Path:
        """Where the services' logs are."""
        return self.path / "logs"

    def make(self) -> None:
        """Make the folder, for us alone; :class:`DataUnusable` says why it cannot be."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self.path.chmod(0o700)
            self.logs.mkdir(exist_ok=True)
            (self.path / "services").mkdir(exist_ok=True)
            (self.path / "writable").touch()
            (self.path / "writable").unlink()
        except OSError as error:
            raise DataUnusable(
                f"The data folder {self.path} cannot be written ({error.strerror}). Choose another with --data,"
                " for example --data /tmp/talkdown."
            ) from None

    @contextmanager
    def held(self) -> Generator[None]:
        """Hold the folder for this process; :class:`DataUnusable` when another run has it."""
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise DataUnusable(self._in_use()) from None
            yield
        finally:
            os.close(descriptor)  # also lets go of the lock

    def is_held(self) -> bool:
        """Whether a run uses the folder now."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDWR)
        except OSError:
            return False
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(descriptor)
        return False

    def write_run(self, run: Run) -> None:
        """Say where the run is reached, in the folder and in the user's list of instances."""
        _write(self.path / "run.json", json.dumps(asdict(run), indent=1))
        try:
            instances = _instances()
            instances.mkdir(parents=True, exist_ok=True)
            _write(instances / sha256(str(self.path).encode()).hexdigest()[:16], str(self.path))
        except OSError:
            return  # without a home the run is still found by --data

    def read_run(self) -> Run | None:
        """The last run that used the folder, whether it still runs or not."""
        try:
            said = json.loads((self.path / "run.json").read_text())
            children = tuple((str(name), int(pid), float(since)) for name, pid, since in said.pop("children"))
            return Run(**said, children=children)
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def forget_run(self) -> None:
        """The run has ended in good order."""
        (self.path / "run.json").unlink(missing_ok=True)

    def _in_use(self) -> str:
        run = self.read_run()
        where = f" (process {run.pid}, {run.url}, watching {run.folder})" if run else ""
        return (
            f"A Talkdown already runs with the data folder {self.path}{where}."
            " Stop it, or give this one a data folder of its own with --data."
        )


def running_instances() -> list[Run]:
    """Every instance of this user that runs now, by port."""
    found: dict[int, Run] = {}
    try:
        pointers = list(_instances().iterdir())
    except OSError:
        return []
    for pointer in pointers:
        try:
            folder = DataFolder(Path(pointer.read_text()))
        except OSError:
            continue
        run = folder.read_run() if folder.is_held() else None
        if run:
            found[run.pid] = run
    return sorted(found.values(), key=lambda run: run.port)


def _instances() -> Path:
    return platformdirs.user_state_path(APPLICATION, appauthor=False) / "instances"


def _write(file: Path, text: str) -> None:
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    with os.fdopen(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as handle:
        handle.write(text)
    partial.replace(file)
