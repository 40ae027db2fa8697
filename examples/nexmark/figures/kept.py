"""Figures as they are measured, in a file: a run that was interrupted goes on where it was."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from figures.page import Figure, Setting


class Kept:
    """The figures of one setting. Those of another setting in the file are dropped, and so are failures."""

    def __init__(self, path: Path, setting: Setting) -> None:
        self._path = path
        self._setting = setting
        self.figures: list[Figure] = []
        lines = path.read_text().splitlines() if path.exists() else []
        if lines and json.loads(lines[0]) == asdict(setting):
            found = [Figure(**json.loads(line)) for line in lines[1:]]
            self.figures = [figure for figure in found if figure.failure is None]
        self._write()

    def has(self, engine: str, query: str) -> bool:
        """Return whether the query of an engine has been measured."""
        return any((figure.engine, figure.query) == (engine, query) for figure in self.figures)

    def add(self, figure: Figure) -> None:
        """Keep one more."""
        self.figures.append(figure)
        self._write()

    def _write(self) -> None:
        lines = [json.dumps(asdict(self._setting)), *(json.dumps(asdict(figure)) for figure in self.figures)]
        part = self._path.with_suffix(".part")
        part.write_text("\n".join(lines) + "\n")
        part.rename(self._path)
