"""The configuration and the environment of a job: each option with its value, the versions of driver and slots."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headgate import options
from headgate.config import Option, Settings
from headgate.runtime.control.messages import process_facts
from headgate.runtime.monitoring.statistics_json import Json
from headgate.web.question import Question

HIDDEN: Final = "******"
TEXT_MAX: Final = 2_000
_OF_FLINK: Final = (
    *("password", "secret", "fs.azure.account.key", "apikey", "api-key", "auth-params", "service-key", "token"),
    *("basic-auth", "jaas.config", "http-headers"),
)
_OTHERS: Final = (
    *("passwd", "pwd", "passphrase", "credential", "private-key", "access-key", "authorization", "signature"),
)
_NAME: Final = "|".join(re.escape(name).replace(r"\-", "[-_.]?") for name in (*_OF_FLINK, *_OTHERS))
_KEY: Final = re.compile(_NAME, re.IGNORECASE)
_URL: Final = re.compile(r"://\S*")
_VALUE: Final = r"""(?:(?:basic|bearer)\s+)?(?:"(?:[^"\\]|\\.)*["\\]?|'(?:[^'\\]|\\.)*['\\]?|\[[^\]]*\]?|[^\s&;,]+)"""
_SIGNED: Final = "(?<=[?&])sig(?==)"  # the signature in a link to Azure storage
_GIVEN: Final = re.compile(
    rf"""((?:(?:{_NAME}|{_SIGNED})[\w.-]{{0,100}}["']?\s*[=:]\s*)+){_VALUE}""", re.IGNORECASE | re.DOTALL
)
"""A secret with its name inside a value: in the query of a URL, in JSON, or in a list of properties."""


def shown(key: str, value: str) -> str:
    """Return the value of a key with its secrets hidden, cut to 2,000 characters.

    >>> shown("db.password", "x"), shown("db.url", "jdbc:postgresql://ann:x@db/shop?password=x&ssl=on")
    ('******', 'jdbc:postgresql://******@db/shop?password=******&ssl=on')
    """
    if _KEY.search(key):
        return HIDDEN
    return _GIVEN.sub(rf"\1{HIDDEN}", _URL.sub(_without_user, value))[:TEXT_MAX]


def _without_user(url: re.Match[str]) -> str:
    """Hide everything before the last @: a password may contain a slash or an @."""
    _, at, place = url[0].rpartition("@")
    return f"://{HIDDEN}@{place}" if at else url[0]


ROWS_MAX: Final = 1_000


def configuration(asked: Question) -> Json:
    """Return all options, the keys that no option declares, and the user's own parameters. Secrets are hidden."""
    settings = asked.job.view.plan.settings
    return {
        "options": [_option(option, settings) for option in options.REGISTRY.options],
        "others": _pairs(settings.others),
        "parameters": _pairs(asked.job.view.plan.parameters),
    }


def environment(asked: Question) -> Json:
    """Return the facts about the driver, the registered slots, and the platform on which the job runs."""
    placement, slots = asked.job.view.progress.placement, asked.job.view.progress.slots
    rows = [{"slot": slot, **facts} for slot, facts in sorted(slots.items()) if slot < placement.slots]
    return {
        "driver": process_facts(),
        "platform": dict(asked.job.facts),
        "slots": rows[:ROWS_MAX],
        "slotsTotal": placement.slots,
    }


def parameters_shown(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the user's parameters without secrets."""
    return {key: shown(key, value) for key, value in parameters.items()}


def _pairs(values: Mapping[str, str]) -> list[Json]:
    return [{"key": key, "value": shown(key, value)} for key, value in sorted(values.items())[:ROWS_MAX]]


def _option(option: Option[object], settings: Settings) -> Json:
    return {
        "key": option.key,
        "value": _text(option, settings.get(option)),
        "default": _text(option, option.default),
        "set": settings.is_given(option),
        "source": settings.source_of(option).value,
        "doc": option.doc,
    }


def _text(option: Option[object], value: object) -> str | None:
    """Return the value as text in the notation of settings, with secrets hidden; None for None."""
    match value:
        case None:
            return None
        case bool():
            text = str(value).lower()
        case dict():
            text = ", ".join(f"{key}: {item}" for key, item in parameters_shown(value).items())
        case tuple():
            text = "-".join(dict.fromkeys(map(str, value)))  # a range of ports
        case _:
            text = f"{value}{option.kind.unit}"
    return shown(option.key, text)
