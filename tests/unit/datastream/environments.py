"""Environments for the tests."""

from __future__ import annotations

import json
from typing import Any

from headgate.common.configuration import Configuration
from headgate.datastream import DataStream, StreamExecutionEnvironment


def environment(**settings: str) -> StreamExecutionEnvironment:
    """An environment that needs no Spark. Keys are given with `__` for a dot."""
    values = {"headgate.deploy.target": "minicluster"} | {key.replace("__", "."): v for key, v in settings.items()}
    return StreamExecutionEnvironment.get_execution_environment(Configuration.from_dict(values))


def plan_of(env: StreamExecutionEnvironment) -> list[dict[str, Any]]:
    nodes: list[dict[str, Any]] = json.loads(env.get_execution_plan())["nodes"]
    return nodes


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3])
