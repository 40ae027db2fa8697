"""The events of Nexmark are those of its definition, and what is told of its queries is right."""

from __future__ import annotations

import csv
import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from figures.compare import unlike
from figures.engines import with_pyflink
from figures.kept import Kept
from figures.page import Figure, Setting, page
from figures.written import add, read
from generator.events import AUCTION, BID, PERSON, Settings, events
from headgate.common import Configuration
from headgate.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from inputs import write_inputs, write_parts
from queries import NAMES, q10, query
from results import Rows, difference, settled
from streams import Events

SOME = 50_000


@pytest.fixture(scope="module")
def made() -> pa.Table:
    return events(0, SOME, Settings())


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nexmark")
    write_inputs(folder, 20_000, Settings(events_per_second=200), row_group=3_000)
    return folder


def column(made: pa.Table, kind: str, name: str) -> pa.Array:
    return pc.struct_field(made.column(kind).combine_chunks().drop_null(), name)


def environment(mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    conf = Configuration.from_dict({"headgate.deploy.target": "minicluster"})
    return StreamExecutionEnvironment.get_execution_environment(conf).set_runtime_mode(mode).set_parallelism(2)


def run(name: str, folder: Path, mode: RuntimeExecutionMode) -> Rows:
    with query(name)(Events(environment(mode), folder)).execute_and_collect() as records:
        return settled(name, (tuple(record) for record in records))


def test_of_fifty_events_one_is_a_person_and_three_are_auctions(made: pa.Table) -> None:
    types = made.column("event_type").to_pylist()
    assert types[:50] == [PERSON] + [AUCTION] * 3 + [BID] * 46
    assert Counter(types) == {PERSON: SOME // 50, AUCTION: SOME // 50 * 3, BID: SOME // 50 * 46}


def test_an_event_has_the_record_of_its_type_and_its_time(made: pa.Table) -> None:
    for event in made.slice(0, 100).to_pylist():
        records = [event["person"], event["auction"], event["bid"]]
        assert [kind for kind, record in enumerate(records) if record is not None] == [event["event_type"]]
        assert records[event["event_type"]]["dateTime"] == event["dateTime"]


def test_an_event_follows_from_seed_and_number_alone(made: pa.Table) -> None:
    assert events(777, 100, Settings()).to_pylist() == made.slice(777, 100).to_pylist()
    assert events(777, 100, Settings(seed=2)).to_pylist() != made.slice(777, 100).to_pylist()


def test_times_follow_from_the_rate() -> None:
    of_slow = events(0, 1_000, Settings(events_per_second=200, start_ms=0)).column("dateTime").to_pylist()
    assert of_slow == [number * 5 for number in range(1_000)]


def test_ids_count_up(made: pa.Table) -> None:
    assert column(made, "person", "id").to_pylist() == list(range(1_000, 1_000 + SOME // 50))
    assert column(made, "auction", "id").to_pylist() == list(range(1_000, 1_000 + SOME // 50 * 3))


@pytest.mark.parametrize(
    ("kind", "name", "one_of", "hot"),
    [("auction", "seller", 4, 0), ("bid", "auction", 2, 0), ("bid", "bidder", 4, 1)],
)
def test_most_are_for_hot_ones(made: pa.Table, kind: str, name: str, one_of: int, hot: int) -> None:
    ids = column(made, kind, name).to_pylist()
    share = sum(number % 100 == hot for number in ids) / len(ids)
    assert share == pytest.approx(1 - 1 / one_of, abs=0.03)


def test_bids_are_for_auctions_in_flight(made: pa.Table) -> None:
    bids = made.column("bid").to_pylist()
    for number in range(SOME - 500, SOME):
        if bids[number] is not None and bids[number]["auction"] % 100:
            newest = 1_000 + number // 50 * 3 + 2
            assert newest - 100 <= bids[number]["auction"] <= newest + 10


@pytest.mark.parametrize(("kind", "others", "size"), [("person", 8, 200), ("auction", 48, 500), ("bid", 32, 100)])
def test_events_have_the_sizes_of_the_definition(made: pa.Table, kind: str, others: int, size: int) -> None:
    texts = {"person": ["name", "emailAddress", "creditCard", "city", "state"], "auction": ["itemName", "description"]}
    lengths = [pc.mean(pc.utf8_length(column(made, kind, name))).as_py() for name in [*texts.get(kind, []), "extra"]]
    assert others + sum(lengths) == pytest.approx(size, rel=0.02)


def test_auctions_last_until_a_hundred_others_have_begun_on_average(made: pa.Table) -> None:
    lengths = pc.subtract(column(made, "auction", "expires"), column(made, "auction", "dateTime"))
    assert pc.min(lengths).as_py() >= 1
    assert pc.mean(lengths).as_py() == pytest.approx(100 * 50 / 3 / 10, rel=0.05)  # ten events in a millisecond


def test_half_of_the_bids_come_by_four_channels(made: pa.Table) -> None:
    channels = Counter(column(made, "bid", "channel").to_pylist())
    hot = sum(channels[name] for name in ("Google", "Facebook", "Baidu", "Apple"))
    assert hot / channels.total() == pytest.approx(0.5, abs=0.01)
    with_id = pc.mean(pc.match_substring(column(made, "bid", "url"), "&channel_id=").cast(pa.int8())).as_py()
    assert with_id == pytest.approx(0.45, abs=0.01)


@pytest.mark.slow
def test_the_log_of_bids_has_each_bid_in_the_folder_of_its_minute(folder: Path, tmp_path: Path) -> None:
    env = environment(RuntimeExecutionMode.STREAMING)
    q10.query(Events(env, folder)).sink_to(q10.sink(tmp_path))
    env.execute()
    found: Rows = Counter()
    for part in tmp_path.rglob("part-*"):
        day, minute = (name.partition("=")[2] for name in part.parts[-3:-1])
        with part.open(newline="") as file:
            for row in csv.DictReader(file):
                numbers: list[Any] = [int(row[name]) for name in q10.COLUMNS[:4]]
                found[(*numbers, row["extra"], day, minute.replace("%3A", ":"))] += 1
    assert difference(found, run("q10", folder, RuntimeExecutionMode.BATCH)) is None


def test_differences_are_told() -> None:
    assert difference(Counter([(1,), (2,)]), Counter([(2,), (1,)])) is None
    told = difference(Counter([(1,), (1,)]), Counter([(1,), (3,)]))
    assert told == "1 too many, such as [(1,)], and 1 missing, such as [(3,)]"


def test_the_last_change_of_a_result_counts() -> None:
    assert settled("q4", [(10, 5), (11, 1), (10, 7)]) == Counter([(10, 7), (11, 1)])
    assert settled("q12", [(1, 2, 0, 10), (1, 3, 10, 20)]) == Counter([(1, 5)])
    assert settled("q12", [(1, 2, 0, 10), (1, 3, 0, 10)]) == Counter([(1, 3)])
    assert settled("q0", [(1, 2), (1, 2)]) == Counter({(1, 2): 2})


def test_written_results_are_what_is_left_in_the_order_of_the_last_changes(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    add(path, [("a", 1), ("a", 2), ("b", 1), ("b", 1)])
    add(path, [("b", 1), ("a", 1)], -1)
    add(path, [("a", 2)], -1)
    add(path, [("a", 1)])
    assert list(read(path).items()) == [(("b", 1), 1), (("a", 1), 1)]
    assert settled("q4", [("a", 1), ("a", 2), ("a", 1)]) == settled("q4", read(path).elements()) - Counter([("b", 1)])


def test_times_are_written_as_milliseconds(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    add(path, [(dt.datetime(1970, 1, 1, 0, 0, 1, 5_000), None, 2.5)])
    assert list(read(path)) == [(1_005, None, 2.5)]


def test_of_equal_rows_any_may_come_first_where_the_query_leaves_that_open() -> None:
    bid = ("auction", "bidder", 10, "channel", "url", 5, "extra")
    other = (*bid[:6], "another")
    assert unlike("Flink SQL", "q18", Counter([other]), Counter([bid])) is None
    assert unlike("headgate", "q18", Counter([other]), Counter([bid])) is not None
    assert unlike("Flink SQL", "q18", Counter([(*bid[:5], 6, "extra")]), Counter([bid])) is not None


def test_a_change_takes_the_place_of_a_result_of_its_auction() -> None:
    first, last = [(7, *"abcdefghijk", price) for price in (10, 20)]
    assert unlike("Flink SQL", "q9", Counter([first, last]), Counter([last])) is None
    assert unlike("Flink SQL", "q9", Counter([last, first]), Counter([last])) is not None
    assert unlike("headgate", "q9", Counter([first, last]), Counter([last])) is not None


def test_a_run_that_was_interrupted_goes_on_where_it_was(tmp_path: Path) -> None:
    path, setting = tmp_path / "measured.jsonl", Setting("2 cores", {"headgate": 1_000})
    kept = Kept(path, setting)
    kept.add(Figure("headgate", "q0", 3_000.0, 0.5, None))
    kept.add(Figure("headgate", "q1", 0.0, 0.0, "took more than 300 s"))
    again = Kept(path, setting)
    assert again.figures == kept.figures[:1]
    assert again.has("headgate", "q0")
    assert not again.has("headgate", "q1"), "what failed is measured again"
    assert not again.has("Spark SQL", "q0")


def test_figures_of_another_setting_are_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "measured.jsonl"
    Kept(path, Setting("2 cores", {"headgate": 1_000})).add(Figure("headgate", "q0", 3_000.0, 0.5, None))
    assert Kept(path, Setting("2 cores", {"headgate": 2_000})).figures == []
    assert Kept(path, Setting("2 cores", {"headgate": 1_000})).figures == []


def test_parts_have_the_events_in_their_order(tmp_path: Path) -> None:
    write_inputs(tmp_path, 5_000, Settings(), row_group=2_000)
    write_parts(tmp_path)
    parts = sorted((tmp_path / "parts").iterdir())
    assert pa.concat_tables(map(pq.read_table, parts)).equals(pq.read_table(tmp_path / "events.parquet"))
    assert len(parts) == 3
    write_inputs(tmp_path, 1_000, Settings(), row_group=2_000)
    assert not (tmp_path / "parts").exists(), "they go with the events that they are made of"


def test_the_page_of_figures_compares_engines_and_tells_what_failed() -> None:
    setting = Setting("2 cores", {"headgate": 1_000, "Flink SQL": 100})
    figures = [
        Figure("headgate", "q5", 3_000.0, 0.5, None),
        Figure("headgate", "q6", 500.0, 0.7, None),
        Figure("Flink SQL", "q5", 2_000.0, 2.0, None),
        Figure("Flink SQL", "q6", 0.0, 0.0, "it has no such window"),
    ]
    text = page(setting, figures)
    assert "| | headgate | Flink SQL | times |" in text
    assert "| q5 | 3,000 | 2,000 | 1.5 |" in text
    assert "| q6 | 500 | - | - |" in text
    assert "| q7 | - | - | - |" in text
    assert "| start | 0.6 s | 2.0 s | |" in text
    assert "- q6 on Flink SQL: it has no such window." in text
    assert "(1,000 for headgate, 100 for Flink SQL)" in text


def test_queries_run_on_pyflink_with_nothing_but_the_import_root_replaced(tmp_path: Path) -> None:
    with_pyflink(tmp_path)
    copies = {path.name: path.read_text() for path in (tmp_path / "queries").glob("*.py")}
    assert copies.keys() >= {f"{name}.py" for name in NAMES}
    assert not [name for name, text in copies.items() if "from headgate" in text]
