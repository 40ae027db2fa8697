"""Payments, the rules for them, and how both are read from messages. Nothing here knows of streams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from headgate.common import Row, Types

PAYMENT = Types.ROW_NAMED(
    ["id", "card", "amount", "country"], [Types.STRING(), Types.STRING(), Types.LONG(), Types.STRING()]
)
Payment = Row(*PAYMENT.get_field_names())
"""A payment by card; the amount is in cents. Its time is the timestamp of its message."""

RULES = Types.ROW_NAMED(
    ["version", "amount_max", "sum_max", "sum_minutes", "countries_max", "countries_minutes"], [Types.LONG()] * 6
)
Rules = Row(*RULES.get_field_names())
"""All rules of one version: the most that a payment, the payments of a card within so many minutes, and the number of
countries that a card pays in within so many minutes may be."""

DEFAULT_RULES = Rules(0, 100_000, 300_000, 60, 3, 60)
"""What payments are judged by until the first rules have come."""

MINUTE_MS = 60_000
MINUTES_MAX = 60
"""The longest window that a rule may have: payments are remembered for so long."""

Earlier = tuple[int, int, str]
"""What is remembered of a payment: time in ms, amount, country."""


def read_payment(message: bytes) -> Row:
    """Return the payment of a message. Raises an exception for a message that is none."""
    found = json.loads(message)
    payment = Payment(*(found[name] for name in PAYMENT.get_field_names()))
    if not all(isinstance(text, str) and text for text in (payment.id, payment.card, payment.country)):
        raise ValueError("id, card and country of a payment are texts")
    if type(payment.amount) is not int or payment.amount <= 0:
        raise ValueError(f"the amount of a payment is a whole number of cents above 0, not {payment.amount!r}")
    return payment


def read_rules(message: bytes) -> Row:
    """Return the rules of a message. Raises an exception for a message that is none."""
    found = json.loads(message)
    rules = Rules(*(found[name] for name in RULES.get_field_names()))
    if not all(type(number) is int and number > 0 for number in rules):
        raise ValueError(f"all numbers of rules are whole and above 0: {rules}")
    if max(rules.sum_minutes, rules.countries_minutes) > MINUTES_MAX:
        raise ValueError(f"payments are remembered for {MINUTES_MAX} minutes only: {rules}")
    return rules


def broken_rules(rules: Row, time_ms: int, payments: Iterable[Earlier]) -> Iterator[str]:
    """Yield the names of the rules that a payment breaks.

    It is the last one of the card's `payments`, in the order of their arrival.
    """
    known = list(payments)
    if known[-1][1] > rules.amount_max:
        yield "amount"
    if sum(amount for _, amount, _ in _within(rules.sum_minutes, time_ms, known)) > rules.sum_max:
        yield "sum"
    if len({country for _, _, country in _within(rules.countries_minutes, time_ms, known)}) > rules.countries_max:
        yield "countries"


def _within(minutes: int, time_ms: int, payments: list[Earlier]) -> Iterator[Earlier]:
    return (each for each in payments if each[0] > time_ms - minutes * MINUTE_MS)
