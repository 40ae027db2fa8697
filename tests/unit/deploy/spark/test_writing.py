"""When people are told how far Spark has got with a DataFrame, and in which words."""

from __future__ import annotations

from headgate.deploy.spark.dataframes.parquet import spark_uri
from headgate.deploy.spark.dataframes.writing import Reports, WriteProgress


def test_what_is_quick_is_not_talked_about() -> None:
    reports = Reports("orders", 10.0)
    assert reports.report(WriteProgress(), 12.9) is None


def test_reports_become_rarer() -> None:
    reports = Reports("orders", 0.0)
    told = [now for now in range(200) if reports.report(WriteProgress(tasks=1), now)]
    assert told == [3, 8, 18, 38, 78, 138, 198]


def test_a_report_has_all_that_is_known() -> None:
    known = WriteProgress(tasks_done=12, tasks_running=3, tasks=40, rows=1_200_000, size_bytes=34_000_000)
    said = "writing orders: 12 of 40 tasks, 3 running, 1,200,000 rows, 34 MB, 5 s"
    assert Reports("orders", 0.0).report(known, 5.0) == said
    assert Reports("orders", 0.0).report(WriteProgress(), 5.0) == "writing orders: not yet begun, 5 s"


def test_places_have_the_names_that_spark_reads() -> None:
    assert spark_uri("gcs://bucket/a") == "gs://bucket/a"
    assert spark_uri("s3://bucket/a?endpoint_override=minio:9000&scheme=http") == "s3a://bucket/a"
    azure = "abfs://container@account.dfs.core.windows.net/a"
    assert spark_uri(azure) == azure
    assert spark_uri("file:/data/a") == "file:/data/a"
    assert spark_uri("file:///data/a%20b") == "file:///data/a b"
    assert spark_uri("s3://bucket/a%20b") == "s3a://bucket/a b"
    assert spark_uri("/data/a%20b") == "file:///data/a%20b"
