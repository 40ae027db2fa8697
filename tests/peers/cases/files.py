# ruff: noqa
# mypy: ignore-errors
"""What files hold. Run after `base.py`, in the same namespace."""

file_system = importlib.import_module(f"{ROOT}.datastream.connectors.file_system")


def written(env, stream, **settings):
    """The lines that the stream writes."""
    with tempfile.TemporaryDirectory() as folder:
        sink = file_system.FileSink.for_row_format(folder, common.Encoder.simple_string_encoder())
        for name, value in settings.items():
            sink = getattr(sink, name)(value)
        stream.sink_to(sink.build())
        env.execute()
        paths = glob.glob(os.path.join(folder, "**"), recursive=True)
        lines = []
        for path in paths:
            if os.path.isfile(path):
                with open(path, encoding="utf-8") as file:
                    lines += file.read().splitlines()
        return sorted(lines)


WRITTEN = ["string", "double", "float", "big decimal", "date", "timestamp", "map", "tuple", "tuple in a tuple", "row with null",
           "row of kinds", "row in a row", "list of rows", "instant", "row of nulls"]  # fmt: skip


def add_written(name, type_info, values):
    @case(name=f"file: {name}", alone=True)
    def _(env):
        return written(env, env.from_collection(values).map(lambda value: value, output_type=type_info))


for name in WRITTEN:
    add_written(name, *VALUES[name])


@case(alone=True)
def file_of_undeclared_tuples(env):
    return written(env, env.from_collection(PAIRS))


@case(alone=True)
def file_of_undeclared_texts(env):
    return written(env, env.from_collection(["a", "two\nlines"]))


@case(alone=True)
def file_of_undeclared_rows(env):
    return written(env, env.from_collection([Row(1, "a"), Row(b=1)]))


@case(alone=True, batches=True)
def file_of_sums(env):
    return written(env, by_key(env).sum(1))


@case(alone=True, batches=True)
def file_with_a_name(env):
    config = file_system.OutputFileConfig.builder().with_part_prefix("pre").with_part_suffix(".txt").build()
    with tempfile.TemporaryDirectory() as folder:
        sink = file_system.FileSink.for_row_format(folder, common.Encoder.simple_string_encoder("UTF-8"))
        sink = sink.with_output_file_config(config).with_bucket_assigner(
            file_system.BucketAssigner.base_path_bucket_assigner()
        )
        sink = sink.with_rolling_policy(file_system.RollingPolicy.default_rolling_policy())
        env.from_collection(["a"], type_info=Types.STRING()).sink_to(sink.build())
        env.execute()
        names = os.listdir(folder)
        return [len(names), names[0][:4], names[0][-6:]]


@case(alone=True, batches=True)
def lines_of_a_file(env):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lines.txt")
        with open(path, "w", encoding="utf-8") as file:
            file.write("one\ntwo words\n\nä\r\nlast")
        lines = file_system.StreamFormat.text_line_format()
        source = file_system.FileSource.for_record_stream_format(lines, path).process_static_file_set().build()
        stream = env.from_source(source, common.WatermarkStrategy.no_watermarks(), "lines")
        with stream.map(lambda line: repr(line), Types.STRING()).execute_and_collect() as records:
            return list(records)
