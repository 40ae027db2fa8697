"""The files that the page is made of, as they are in the package. They hold no secret, and nothing of a job.

They are small, and kept in memory: an answer waits for no disk.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, final

from starlette.exceptions import HTTPException
from starlette.responses import Response

FOLDER: Final = Path(__file__).parents[1] / "static"
_KINDS: Final = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
}
_THIS_MACHINE: Final = ("http://localhost:*", "http://127.0.0.1:*", "https://localhost:*")


@final
class PageFiles:
    """Serves the files below `static/`, with a policy that lets them load nothing from elsewhere."""

    def __init__(self, frame_ancestors: tuple[str, ...]) -> None:
        self._files = {
            str(path.relative_to(FOLDER)): (path.read_bytes(), _KINDS[path.suffix])
            for path in FOLDER.rglob("*")
            if path.suffix in _KINDS
        }
        sites = " ".join(frame_ancestors or _THIS_MACHINE)
        self._headers = {
            "Content-Security-Policy": (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                f"base-uri 'none'; form-action 'none'; frame-ancestors 'self' {sites}"
            ),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cache-Control": "no-cache",
        }

    def answer(self, name: str) -> Response:
        """Return a file by its path below the folder. Raises HTTPException when there is none."""
        found = self._files.get(name)
        if found is None:
            raise HTTPException(404, f"the page has no file {name}")
        content, kind = found
        return Response(content, headers=self._headers, media_type=kind)
