"""How a job is configured, and what it runs on, without a secret."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.options import REGISTRY
from headgate.runtime.control.messages import process_facts
from headgate.web import configuration_json
from headgate.web.configuration_json import HIDDEN, TEXT_MAX, shown
from headgate.web.question import Question, ServedJob
from tests.unit.web.page_jobs import PageJob
from tests.unit.web.served import served


def found(job: PageJob) -> Any:
    asked = Question(job=job.job, now_ms=0, path={}, query={})
    return configuration_json.environment(asked)


def test_each_option_is_shown_with_its_value_its_default_and_who_set_it() -> None:
    settings = {"execution__checkpointing__interval": "2 s", "pipeline__global-job-parameters": "db.password:x,shop:A"}
    with served(**settings) as job:
        answer = job.get("/jobs/JOB/configuration")
        options = {row["key"]: row for row in answer["options"]}
        assert list(options) == [option.key for option in REGISTRY.options]
        row = options["execution.checkpointing.interval"]
        assert (row["value"], row["default"], row["set"]) == ("2000 ms", None, True)
        assert row["source"] == "the program's Configuration"
        row = options["headgate.batch.records"]
        assert (row["value"] == row["default"], row["set"], row["source"]) == (True, False, "the default")
        assert options["headgate.rest.open-metrics"]["value"] == "false"
        assert options["pipeline.global-job-parameters"]["value"] == f"db.password: {HIDDEN}, shop: A"
        assert answer["parameters"] == [{"key": "db.password", "value": HIDDEN}, {"key": "shop", "value": "A"}]
        user = job.get("/jobs/JOB/config")["execution-config"]["user-config"]
        assert user == {"db.password": HIDDEN, "shop": "A"}


def test_a_slot_tells_its_host_process_and_versions() -> None:
    with served(parallelism__default="2") as job:
        answer = job.get("/jobs/JOB/environment")
        assert answer["driver"] == process_facts()
        assert [(slot["slot"], slot["pid"]) for slot in answer["slots"]] == [
            (0, str(os.getpid())),
            (1, str(os.getpid())),
        ]
        assert answer["slots"][0].keys() >= {"host", "python", "headgate", "pyarrow"}
        assert (answer["platform"], answer["slotsTotal"]) == ({}, 2)


@pytest.mark.slow
def test_at_most_a_thousand_slots_are_shown_and_none_that_has_gone() -> None:
    job = PageJob(parallelism=3)
    job.progress.slots = {number: process_facts() for number in range(5)}  # type: ignore[misc]
    assert [slot["slot"] for slot in found(job)["slots"]] == [0, 1, 2]
    job = PageJob(parallelism=1500)
    job.progress.slots = {number: process_facts() for number in range(1500)}  # type: ignore[misc]
    answer = found(job)
    assert (len(answer["slots"]), answer["slotsTotal"]) == (1000, 1500)
    assert len(json.dumps(answer)) < 300_000


def test_what_the_job_runs_on_is_told() -> None:
    job = PageJob()
    job.job = ServedJob(job.job.view, 0, None, {"spark": "4.0.0", "page": "http://driver:4040"})
    assert found(job)["platform"] == {"spark": "4.0.0", "page": "http://driver:4040"}


@pytest.mark.parametrize(
    "key",
    [
        *("db.PASSWORD", "my.secret.key", "fs.azure.account.key.shop", "apikey", "api-key", "api_key", "auth-params"),
        *("service-key", "access-token", "basic-auth", "sasl.jaas.config", "http-headers", "passwd", "credentials"),
        *("passphrase", "private.key", "secret_access_key", "authorization", "PWD", "signature"),
    ],
)
def test_the_value_of_a_key_that_names_a_secret_is_hidden(key: str) -> None:
    assert shown(key, "x") == HIDDEN


@pytest.mark.parametrize(
    ("value", "seen"),
    [
        ("s3://key:sec/ret@bucket/data", "s3://******@bucket/data"),
        (
            "jdbc:postgresql://db/shop?user=ann&password=x&ssl=on",
            "jdbc:postgresql://db/shop?user=ann&password=******&ssl=on",
        ),
        ("kafka://ann:p@ss@broker", "kafka://******@broker"),
        ('{"token": "a b", "shop": "A"}', '{"token": ******, "shop": "A"}'),
        (r'{"token": "a\"b", "shop": "A"}', '{"token": ******, "shop": "A"}'),
        (r"{'token': 'a\'b', 'shop': 'A'}", "{'token': ******, 'shop': 'A'}"),
        ('{"token": "a b', '{"token": ******'),
        ('{"token": ["a", "b"], "shop": "A"}', '{"token": ******, "shop": "A"}'),
        ("Authorization: Bearer abc", "Authorization: ******"),
        ("Authorization: Basic abc", "Authorization: ******"),
        ("http-headers=Authorization: Bearer abc", "http-headers=Authorization: ******"),
        ("https://x/y?X-Amz-Signature=abc&x=1", "https://x/y?X-Amz-Signature=******&x=1"),
        ("https://x/y?sv=1&sig=a%2Bb&x=1", "https://x/y?sv=1&sig=******&x=1"),
        ("https://x/y?signal=on", "https://x/y?signal=on"),
        ("user=ann;api_key=abc;x=1", "user=ann;api_key=******;x=1"),
        ("a@b and /data/x@y", "a@b and /data/x@y"),
        ("s3://bucket/data", "s3://bucket/data"),
    ],
)
def test_credentials_inside_a_value_are_hidden_and_the_rest_is_not(value: str, seen: str) -> None:
    assert shown("key", value) == seen


@given(st.text(st.characters(exclude_categories=("Z", "C")), min_size=1).map(lambda text: f"<{text}>"))
def test_no_password_of_a_url_is_shown_whatever_is_in_it(password: str) -> None:
    assert password not in shown("url", f"kafka://ann:{password}@broker:9092/orders")


def test_a_long_value_is_cut() -> None:
    assert len(shown("key", "x" * 10_000)) == TEXT_MAX


@pytest.mark.parametrize("part", ["QUJD", "://h,", "token", "token=", 'token="', "token=[", "token\n"])
def test_a_value_of_any_length_is_shown_at_once(part: str) -> None:
    began_s = time.monotonic()
    shown("model", part * 25_000)
    assert time.monotonic() - began_s < 5
