"""What the demo sends: payments of many cards at a rate, some of them twice, and some messages that are no payment."""

from __future__ import annotations

import json
import random
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Final

from confluent_kafka import Producer

CARDS: Final = 200
HOMES: Final = ("DE", "FR", "IT", "PL", "ES")
ABROAD: Final = ("US", "JP", "BR", "CH")
PAYMENTS_PER_MINUTE: Final = 100
"""Of event time, which runs faster than the clock, so that windows of many minutes go by while the demo runs."""


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A payment as it was sent, the time in ms."""

    id: str
    card: str
    amount: int
    country: str
    time_ms: int


@dataclass
class Traffic:
    """A thread that sends payments until it is told to end, and notes what it has sent, in order."""

    kafka: str
    topic: str
    per_second: int
    payments: list[Sent] = field(default_factory=list)
    broken: list[bytes] = field(default_factory=list)
    repeated: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(2026)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="traffic", daemon=True)
        # Idempotent, so that a retry of the producer neither doubles a message nor changes the order of two.
        self._producer = Producer(
            {"bootstrap.servers": self.kafka, "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
        )

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        """Send no more; block until the broker has everything."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        began_s = time.monotonic()
        began_ms = int(time.time() * 1000) - 10 * 3_600_000  # brokers refuse times that are much in the future
        number = 0
        while not self._ended.wait(0.02):
            elapsed_s = time.monotonic() - began_s
            while number < elapsed_s * self.per_second:
                number += 1
                self._send(number, began_ms + number * 60_000 // PAYMENTS_PER_MINUTE)
            self._producer.poll(0)
        self._producer.flush()

    def _send(self, number: int, time_ms: int) -> None:
        if number % 97 == 0:
            message = self._broken(number)
            self.broken.append(message)
            self._produce(f"card-{number % CARDS}", message, time_ms)
            return
        payment = self._payment(number, time_ms)
        self.payments.append(payment)
        self._produce(payment.card, _message(payment), payment.time_ms)
        if number % 53 == 0:
            self.repeated += 1
            self._produce(payment.card, _message(payment), payment.time_ms)

    def _payment(self, number: int, time_ms: int) -> Sent:
        rng, card = self._rng, self._rng.randrange(CARDS)
        return Sent(
            id=f"payment-{number}",
            card=f"card-{card}",
            amount=rng.randrange(100, 20_000) * (10 if rng.random() < 0.03 else 1),
            country=rng.choice(ABROAD) if rng.random() < 0.015 else HOMES[card % len(HOMES)],
            time_ms=time_ms - rng.randrange(3_000),  # not quite in order
        )

    def _broken(self, number: int) -> bytes:
        """Make something that is no payment; no two are the same."""
        kinds = (
            b'{"id": "payment-%d", "card": "card',
            b"\xff\xfe %d",
            b'{"id": "payment-%d", "card": "card-1", "country": "DE"}',
            b'{"id": "payment-%d", "card": "card-1", "amount": -5, "country": "DE"}',
        )
        return kinds[number % len(kinds)] % number

    def _produce(self, key: str, value: bytes, time_ms: int) -> None:
        self._producer.produce(self.topic, value, key, timestamp=time_ms)


def _message(payment: Sent) -> bytes:
    shown: dict[str, Any] = {
        "id": payment.id,
        "card": payment.card,
        "amount": payment.amount,
        "country": payment.country,
    }
    return json.dumps(shown).encode()
