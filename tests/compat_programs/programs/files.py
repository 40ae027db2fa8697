"""Files in and out: enumerators, hourly folders, names of files, what text lines hold, compaction."""

import re
import tempfile
from pathlib import Path

from pyflink.common import Encoder, Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    FileCompactor,
    FileCompactStrategy,
    FileEnumeratorProvider,
    FileSink,
    FileSource,
    FileSplitAssignerProvider,
    OutputFileConfig,
    RollingPolicy,
    StreamFormat,
)


def parsed(line):
    word, count = line.split(",")
    return Row(word, int(count))


def main():
    folder = Path(tempfile.mkdtemp())
    (folder / "in").mkdir()
    (folder / "in" / "words.txt").write_text("be,2\nto,2\n")
    source = (
        FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder / "in"))
        .set_file_enumerator(FileEnumeratorProvider.default_non_splittable_file_enumerator())
        .set_split_assigner(FileSplitAssignerProvider.locality_aware_split_assigner())
        .process_static_file_set()
        .build()
    )
    names = OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".ext").build()
    plain = FileSink.for_row_format(str(folder / "out"), Encoder.simple_string_encoder("UTF-8"))
    plain = plain.with_output_file_config(names).with_rolling_policy(RollingPolicy.default_rolling_policy())
    compacting = FileSink.for_row_format(str(folder / "compact"), Encoder.simple_string_encoder()).enable_compact(
        FileCompactStrategy.builder().enable_compaction_on_checkpoint(3).set_num_compact_threads(1).build(),
        FileCompactor.concat_file_compactor(),
    )

    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    lines = env.from_source(source, WatermarkStrategy.no_watermarks(), "words")
    rows = lines.map(parsed, Types.ROW([Types.STRING(), Types.INT()]))
    rows.sink_to(plain.build()).uid("plain")
    pairs = rows.map(lambda row: (row[0], row[1] > 1), Types.TUPLE([Types.STRING(), Types.BOOLEAN()]))
    pairs.sink_to(compacting.build()).uid("compacting")
    result = env.execute("files")

    for name in ("out", "compact"):
        for path in (folder / name).rglob("*"):
            if path.is_file() and not path.name.startswith("."):
                print(re.sub(r"\d", "9", path.parent.name), path.suffix, path.read_text().split("\n"))
    print(str(result).split("\n")[0], result.get_accumulator_result("none"), result.get_all_accumulator_results())


if __name__ == "__main__":
    main()
