"""The pages of the API show signatures and docstrings as Markdown, the same in each process."""

from __future__ import annotations

from enum import Enum
from typing import Final

from docs.api_text import Shown, as_markdown


class Colour(Enum):
    """What it looks like."""

    RED = 1
    """Like blood."""


class Base:
    """Without a page of its own."""

    def inherited(self) -> int:
        """Return a number."""
        return 1


def anybody(record: object) -> bool:
    return True


class Example(Base):
    """Shows what there is.

    >>> Example("x").name
    'x'

    And more.
    """

    limit: Final[int] = 3
    """At most so many."""

    def __init__(self, name: str, *, colour: Colour = Colour.RED, who: object = anybody) -> None:
        """`who` is called for each."""
        self.name = name
        """What it is called."""

    @property
    def size(self) -> int:
        """Its size in bytes."""
        return 1

    @staticmethod
    def of(*names: str) -> Example:
        """Make one."""
        return Example(names[0])

    def undocumented(self) -> None: ...

    def _private(self) -> None:
        """Do nothing."""


def test_a_class_is_shown_with_signature_example_and_members() -> None:
    shown = Shown("Example", Example, bases=("[`Other`](other.md#other)",), inherited=(Base,))
    text = "\n".join(as_markdown(shown))
    for part in (
        "### `Example`\n\n```py\nclass Example(name: str, *, colour: Colour = Colour.RED, who: object = anybody)\n```",
        "Extends [`Other`](other.md#other).\n\nShows what there is.",
        "```pycon\n>>> Example(\"x\").name\n'x'\n```\n\nAnd more.",
        "`who` is called for each.",
        "#### `Example.limit`\n\n```py\nlimit: Final[int]\n```\n\nAt most so many.",
        "#### `Example.name`\n\n```py\nname\n```\n\nWhat it is called.",
        "```py\nsize: int\n```\n\nIts size in bytes.",
        "```py\n@staticmethod\ndef of(*names: str) -> Example\n```\n\nMake one.",
        "#### `Example.inherited`",
    ):
        assert part in text, text
    assert "undocumented" not in text
    assert "_private" not in text


def test_members_of_an_enum_are_shown_with_their_texts() -> None:
    text = "\n".join(as_markdown(Shown("Colour", Colour)))
    assert "class Colour(Enum)" in text
    assert "#### `Colour.RED`\n\n```py\nRED\n```\n\nLike blood." in text


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    def longer(
        first_of_all: str, /, second_of_all: list[int], *, third_of_all: dict[str, int] | None = None, fourth: int = 4
    ) -> dict[str, list[int]]:
        """Take much."""
        return {}

    text = "\n".join(as_markdown(Shown("longer", longer)))
    assert (
        "def longer(\n    first_of_all: str,\n    /,\n    second_of_all: list[int],\n    *,\n"
        "    third_of_all: dict[str, int] | None = None,\n    fourth: int = 4,\n) -> dict[str, list[int]]"
    ) in text
