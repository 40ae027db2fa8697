"""Locations that requests name: the driver connects only to storage that its jobs are configured with."""

from __future__ import annotations

import pytest
from starlette.exceptions import HTTPException

from headgate.config import Settings, SettingSource
from headgate.options import REGISTRY
from headgate.web.checks import check_reach

MINIO = "endpoint_override=minio:9000&scheme=http"


def configured(values: dict[str, str]) -> Settings:
    return REGISTRY.resolve([(SettingSource.CODE, values)])


LOCAL = configured({"headgate.storage.dir": "/data"})
REMOTE = configured(
    {
        "execution.checkpointing.dir": f"s3://streams/checkpoints?{MINIO}",
        "execution.checkpointing.savepoint-dir": "hdfs://namenode:8020/savepoints",
    }
)

EVERYWHERE = ("/data/savepoints", "file:///data/savepoints", "s3://any-bucket/a", "gs://any-bucket/a", None)
CONFIGURED = (f"s3://streams/savepoints?{MINIO}", f"s3://others/a?{MINIO}", "hdfs://namenode:8020/elsewhere")
NOWHERE = (
    "s3://streams/a?endpoint_override=attacker.example",
    "s3://streams/a?scheme=http&endpoint_override=attacker.example",
    "s3://streams/a#?endpoint_override=attacker.example",
    f"s3://streams/a?{MINIO}&endpoint_override=attacker.example",
    f"s3://key:secret@streams/a?{MINIO}",
    "s3://key:secret@streams/a",
    "hdfs://attacker.example:8020/elsewhere",
    "hdfs://namenode:8020@attacker.example/elsewhere",
    "hdfs://namenode:8020/elsewhere?user=root",
    "abfs://container@attacker.example/a",
    "fsspec+http://attacker.example/a",
)


@pytest.mark.parametrize("location", EVERYWHERE)
def test_local_folders_and_buckets_of_public_clouds_may_be_named(location: str | None) -> None:
    check_reach(location, [LOCAL])


@pytest.mark.parametrize("location", CONFIGURED)
def test_storage_that_a_job_is_configured_with_may_be_named(location: str) -> None:
    check_reach(location, [LOCAL, REMOTE])
    with pytest.raises(HTTPException, match=r"execution.checkpointing.savepoint-dir"):
        check_reach(location, [LOCAL])


@pytest.mark.parametrize("location", NOWHERE)
def test_no_other_server_is_connected_to(location: str) -> None:
    with pytest.raises(HTTPException, match="that the job is not configured with") as raised:
        check_reach(location, [LOCAL, REMOTE])
    assert raised.value.status_code == 400
    assert "secret" not in raised.value.detail
