"""The page itself: static modules and styles, served as they are written."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

FOLDER = Path(str(files("web"))) / "page"
REVALIDATED = {"cache-control": "no-cache"}
"""A browser asks each time whether its copy still holds, so that an update is seen at once."""


async def page(request: Request) -> FileResponse:
    """``GET /``."""
    return FileResponse(FOLDER / "index.html", headers=REVALIDATED)


routes = [Route("/", page), Mount("/page", StaticFiles(directory=FOLDER))]
