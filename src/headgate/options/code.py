"""Options of the code that goes to the slots. As everywhere in Flink, commas separate paths."""

from __future__ import annotations

from typing import Final

from headgate.config import Option
from headgate.config_kinds import TEXT

PYTHON_EXECUTABLE: Final = Option[str | None](
    "python.executable",
    TEXT,
    None,
    "Python that runs the slots: a path on the workers, or one in an archive, such as env.zip/env/bin/python.",
)
PYTHON_FILES: Final = Option[str | None](
    "python.files",
    TEXT,
    None,
    "Modules (.py), folders, and archives of modules (.zip, .whl, .egg) that slots can import; paths on the "
    "driver, separated by commas.",
)
PYTHON_ARCHIVES: Final = Option[str | None](
    "python.archives",
    TEXT,
    None,
    "Archives (.zip, .tar, .tar.gz, .tgz, .jar) that are unpacked in the working folder of the slots, each in a "
    "folder of its own name, or of the name after a `#`.",
)
PYTHON_REQUIREMENTS: Final = Option[str | None](
    "python.requirements",
    TEXT,
    None,
    "Requirements file. The driver installs the packages with pip and ships them to the slots. After a `#`: a "
    "folder that holds the packages.",
)
CACHED_FILES: Final = Option[str | None](
    "pipeline.cached-files",
    TEXT,
    None,
    "Files and folders of the driver that functions find by name in the working folder of their slot: "
    "`name:rates,path:/data/rates.csv;name:tool,path:/data/tool,executable:true`.",
)
