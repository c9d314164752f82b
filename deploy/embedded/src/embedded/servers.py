"""PostgreSQL and Valkey as children of the supervisor, each unless the settings name a server of the person's own."""

from __future__ import annotations

from dataclasses import dataclass

from embedded.children import Child
from embedded.data import DataFolder
from embedded.launch import Launch
from embedded.ports import free_port
from embedded.postgres import Postgres
from embedded.services import STAGE
from embedded.settings import Settings
from embedded.valkey import Valkey


@dataclass
class Port:
    """The port of a server: another one at each try until the server was ready once, then always the same."""

    number: int = 0


@dataclass(frozen=True)
class Servers:
    """The servers that this run starts, and where they are reached once they are ready."""

    children: tuple[Child, ...]
    postgres: Postgres
    valkey: Valkey
    ports: dict[str, Port]
    settings: Settings

    @classmethod
    def of(cls, data: DataFolder, settings: Settings) -> Servers:
        """Those that are needed with these settings."""
        postgres, valkey = Postgres(data.path), Valkey(data.path)
        ports = {"PostgreSQL": Port(), "Valkey": Port()}
        children: list[Child] = []
        if settings.postgres_url is None:
            children.append(_child("PostgreSQL", ports["PostgreSQL"], postgres))
        if settings.redis_url is None:
            children.append(_child("Valkey", ports["Valkey"], valkey))
        return cls(tuple(children), postgres, valkey, ports, settings)

    def prepare(self) -> bool:
        """Make what the servers need on disk; true when the database was made now (about a second)."""
        return self.settings.postgres_url is None and self.postgres.prepare()

    @property
    def postgres_url(self) -> str:
        """Where PostgreSQL is reached."""
        return self.settings.postgres_url or self.postgres.url(self.ports["PostgreSQL"].number)

    @property
    def redis_url(self) -> str:
        """Where Valkey is reached."""
        return self.settings.redis_url or self.valkey.url(self.ports["Valkey"].number)


def _child(name: str, port: Port, server: Postgres | Valkey) -> Child:
    def launch() -> Launch:
        if not child.was_ready.is_set():
            port.number = free_port()
        if child.restarts and isinstance(server, Valkey):
            server.set_aside_broken()
        return server.launch(port.number)

    child = Child(name, launch, STAGE[name])
    return child
