"""The page itself: static modules and styles, served as they are written."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOLDER = Path(str(files("web"))) / "page"
REVALIDATED = {"cache-control": "no-cache"}
"""A browser asks each time whether its copy still holds, so that an update is seen at once."""


async def page(request: Request) -> FileResponse:
    """``GET /``."""
    return FileResponse(FOLDER / "index.html", headers=REVALIDATED)


class PageFiles(StaticFiles):
    """The page's modules and styles."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, to be asked for again each time; 304 when the browser's copy holds."""
        response = await super().get_response(path, scope)
        response.headers.update(REVALIDATED)
        return response


routes = [Route("/", page), Mount("/page", PageFiles(directory=FOLDER))]
