"""What must have come of the payments, found out without the job, headgate or Spark: each once, and judged right."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from payments_traffic import Sent

MINUTE_MS = 60_000


class Decision(NamedTuple):
    """A row of the audit; the fields are those of its table."""

    payment: str
    card: str
    paid_ms: int
    amount: int
    country: str
    rules_version: int
    decision: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the job has emitted: the audit, the alerts as dictionaries, the values of the dead letters."""

    audit: Sequence[Decision]
    alerts: Sequence[Mapping[str, Any]]
    dead_letters: Sequence[bytes]


def judge(rules: Mapping[str, int], payments: Sequence[Sent]) -> str:
    """Return the decision on the last one of a card's payments."""
    last = payments[-1]
    total, countries = 0, set()
    for payment in payments:
        age_ms = last.time_ms - payment.time_ms
        if age_ms < rules["sum_minutes"] * MINUTE_MS:
            total += payment.amount
        if age_ms < rules["countries_minutes"] * MINUTE_MS:
            countries.add(payment.country)
    reasons = [
        ("amount", last.amount > rules["amount_max"]),
        ("sum", total > rules["sum_max"]),
        ("countries", len(countries) > rules["countries_max"]),
    ]
    return "+".join(name for name, broken in reasons if broken) or "accepted"


def differences(
    payments: Sequence[Sent], broken: Iterable[bytes], rules: Mapping[int, Mapping[str, int]], found: Found
) -> list[str]:
    """Return what is wrong with the output; nothing if all is as it must be.

    `payments` are in the order in which they were sent, `rules` by version.
    """
    wrong = [
        *_unlike("audit, payments", (row.payment for row in found.audit), (payment.id for payment in payments)),
        *_unlike("dead letters", found.dead_letters, broken),
        *_unlike(
            "alerts, as in the audit",
            (tuple(sorted(alert.items())) for alert in found.alerts),
            (tuple(sorted(row._asdict().items())) for row in found.audit if row.decision != "accepted"),
        ),
    ]
    if wrong:
        return wrong
    decisions = {row.payment: row for row in found.audit}
    by_card: dict[str, list[Sent]] = defaultdict(list)
    for payment in payments:
        by_card[payment.card].append(payment)
    return [line for of_card in by_card.values() for line in _of_card(of_card, rules, decisions)]


def _unlike(what: str, found: Iterable[Any], expected: Iterable[Any]) -> list[str]:
    got, wanted = Counter(found), Counter(expected)
    if got == wanted:
        return []
    missing, surplus = wanted - got, got - wanted
    return [
        f"{what}: {missing.total()} missing, such as {list(missing)[:2]}; "
        f"{surplus.total()} too many, such as {list(surplus)[:2]}"
    ]


def _of_card(
    payments: Sequence[Sent], rules: Mapping[int, Mapping[str, int]], decisions: Mapping[str, Decision]
) -> Iterable[str]:
    newest = 0
    for number, payment in enumerate(payments, start=1):
        row = decisions[payment.id]
        if row.rules_version < newest:
            yield f"rules {row.rules_version} decided on {payment}, after rules {newest} on an earlier one of the card"
        newest = max(newest, row.rules_version)
        decision = judge(rules[row.rules_version], payments[:number])
        expected = Decision(
            payment.id, payment.card, payment.time_ms, payment.amount, payment.country, row.rules_version, decision
        )
        if row != expected:
            yield f"the audit has {row}, and not {expected}"
