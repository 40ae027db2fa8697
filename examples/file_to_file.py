"""From files to files, exactly once: orders in CSV, their totals by customer as lines of JSON.

    python examples/file_to_file.py <folder or file of CSV> <folder for the results>

The CSV has a header and the columns `customer` and `amount`. Lines that are no orders are left out and counted. Results
become visible with the checkpoint after them, here every 200 ms, as whole files; whatever fails, each is there once.
"""

from __future__ import annotations

import sys

from headgate.common import Row, Types
from headgate.datastream import StreamExecutionEnvironment
from headgate.datastream.connectors.file_system import (
    BrokenLines,
    BucketAssigner,
    CsvOptions,
    Encoder,
    FileSink,
    FileSource,
    StreamFormat,
)

ORDER = Types.ROW_NAMED(["customer", "amount"], [Types.STRING(), Types.LONG()])


def main(source: str, target: str) -> None:
    orders = StreamFormat.csv_format(CsvOptions(types=ORDER, broken_lines=BrokenLines.SKIP))
    results = FileSink.for_row_format(target, Encoder.json_lines_encoder())
    results.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())

    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(200)
    (
        env.from_source(FileSource.for_record_stream_format(orders, source).build(), None, "orders")
        .key_by(lambda order: order.customer)
        .reduce(lambda total, order: Row(customer=order.customer, amount=total.amount + order.amount))
        .sink_to(results.build())
    )
    env.execute("totals by customer")


if __name__ == "__main__":
    files = [argument for argument in sys.argv[1:] if not argument.startswith("-D")]
    if len(files) != 2:
        sys.exit("usage: file_to_file.py <folder or file of CSV> <folder for the results>")
    main(*files)
