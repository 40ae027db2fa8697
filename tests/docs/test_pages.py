"""What pages point to is there: files, headings, commands and configuration keys."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from headgate.options import REGISTRY
from tests.docs.blocks import PAGES, ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
COMMAND = re.compile(r"\bmake ([a-z0-9-]+)")
PROGRAM = re.compile(r"\bpython ((?:examples|bench|scripts)/[\w/.]+)")
KEY = re.compile(r"`((?:headgate|execution|pipeline|state|restart-strategy|parallelism)\.[a-z0-9.-]+?)(?:=[^`]*)?`")


def anchor(heading: str) -> str:
    kept = re.sub(r"[^\w\- ]", "", heading.lower())
    return kept.replace(" ", "-")


@cache
def anchors(page: Path) -> set[str]:
    return {anchor(heading) for heading in HEADING.findall(page.read_text())}


def broken_links(page: Path) -> Iterator[str]:
    """Yield the links of a page that lead to no file or no heading."""
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        path, _, heading = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (heading and heading not in anchors(target)):
            yield f"{page.name} links to {link}"


def test_links_lead_somewhere() -> None:
    assert [broken for page in PAGES for broken in broken_links(page)] == []


def test_commands_and_programs_exist() -> None:
    targets = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    known = {line.split()[0] for line in targets.splitlines()} | {"help"}
    code = {page.name: "\n".join(re.findall(r"`[^`\n]+`|```.*?```", page.read_text(), re.DOTALL)) for page in PAGES}
    assert [(page, each) for page, text in code.items() for each in COMMAND.findall(text) if each not in known] == []
    programs = [(page, each) for page, text in code.items() for each in PROGRAM.findall(text)]
    assert [each for each in programs if not (ROOT / each[1]).exists()] == []


def test_configuration_keys_exist() -> None:
    known = {name for option in REGISTRY.options for name in (option.key, *option.aliases)}
    named = [(page.name, key) for page in PAGES if page.name != "compat.md" for key in KEY.findall(page.read_text())]
    assert [each for each in named if each[1] not in known and not is_module(each[1])] == []


def is_module(name: str) -> bool:
    """Whether a name in code style is one of a module, class or function of ours."""
    parts = name.split(".")
    return (
        any((ROOT / "src" / "/".join(parts[:length])).with_suffix(".py").exists() for length in (2, 3, 4))
        or (ROOT / "src" / "/".join(parts)).is_dir()
    )


def test_every_page_is_reached_from_the_readme() -> None:
    seen: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in seen or page.suffix != ".md":
            continue
        seen.add(page)
        links = (link.partition("#")[0] for link in LINK.findall(page.read_text()) if "://" not in link)
        waiting += [(page.parent / link).resolve() for link in links if link]
    assert sorted(page.name for page in PAGES if page.resolve() not in seen) == []


def test_every_option_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    assert [option.key for option in REGISTRY.options if f"`{option.key}`" not in page] == []
