"""Where jobs run."""

from __future__ import annotations

import sys

import pytest

from headgate.deploy import choose
from headgate.deploy.local.mini_cluster import MiniCluster
from headgate.errors import EnvironmentFault
from headgate.options import resolve

MINICLUSTER = resolve({"headgate.deploy.target": "minicluster"})


def test_the_key_chooses_this_process() -> None:
    assert isinstance(choose.deployment(MINICLUSTER, None), MiniCluster)
    assert choose.default_parallelism(MINICLUSTER, None) == 1


def test_without_pyspark_the_error_says_what_to_install_or_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    with pytest.raises(EnvironmentFault, match=r"headgate\[spark\].*headgate\.deploy\.target=minicluster"):
        choose.deployment(resolve(), None)


def test_without_rocksdb_a_job_that_needs_it_fails_before_it_is_submitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "headgate.state.rocksdb.database", raising=False)
    monkeypatch.setitem(sys.modules, "rocksdict", None)
    settings = resolve({"headgate.deploy.target": "minicluster", "state.backend.type": "rocksdb"})
    with pytest.raises(EnvironmentFault, match=r"pip install 'headgate\[rocksdb\]'"):
        choose.deployment(settings, None)


def test_without_pyspark_there_is_no_conf_and_the_parallelism_is_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pyspark", raising=False)
    assert choose.spark_conf(None) == {}
    assert choose.default_parallelism(resolve(), None) >= 1
    assert "pyspark" not in sys.modules
