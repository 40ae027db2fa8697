# ruff: noqa
# mypy: ignore-errors
"""Rows, types and configurations by themselves. Run after `base.py`, in the same namespace."""


@case(alone=True)
def row_keeps_the_order_of_keywords(env):
    row = Row(b=2, a=1)
    return [row, row[0], row.a, list(row), row.as_dict(), row["b"], len(row)]


@case(alone=True)
def row_contains_names(env):
    return ["a" in Row(a=1), 1 in Row(a=1), 1 in Row(1), "x" in Row("x"), "y" in Row("x")]


@case(alone=True)
def rows_are_equal_by_name(env):
    return [
        Row(a=1, b=2) == Row(b=2, a=1),
        Row(1, 2) == Row(1, 2),
        Row(1, 2) == Row(a=1, b=2),
        Row(1) == (1,),
        Row.of_kind(RowKind.DELETE, 1) == Row(1),
    ]


@case(alone=True)
def row_kinds_have_signs(env):
    return [str(kind) for kind in RowKind] + [Row.of_kind(RowKind.UPDATE_BEFORE, 1).get_row_kind()]


@case(alone=True)
def row_of_names_makes_rows(env):
    person = Row("name", "age")
    return [person, person("ann", 7), "name" in person]


@case(alone=True)
def row_as_dict_goes_into_rows(env):
    row = Row(a=1, b=Row(c=2), d=[Row(e=3)], f={"g": Row(h=4)})
    return [row.as_dict(), row.as_dict(True)]


@case(alone=True)
def row_is_changed_by_name_and_place(env):
    row = Row(a=1, b=2)
    row["a"], row[1] = 10, 20
    return [row, row.get_fields_by_names(["b", "a"])]


@case(alone=True)
def row_is_named_later(env):
    row = Row(1, 2)
    row.set_field_names(["x", "y"])
    return [row, row.x, row.as_dict()]


@case(alone=True)
def texts_of_types(env):
    return [
        str(Row(1, "a")),
        str(Row(a=1)),
        repr(Instant(1, 5)),
        Types.INT() == Types.INT(),
        Types.INT() == Types.LONG(),
    ]


@case(alone=True)
def types_of_rows_have_names(env):
    return [AB.get_field_names(), Types.ROW([Types.INT(), Types.INT()]).get_field_names(), len(AB.get_field_types())]


@case(alone=True)
def durations_and_times(env):
    return [
        Duration.of_seconds(2) == Duration.of_millis(2000),
        Time.seconds(3).to_milliseconds(),
        Time.days(1).to_milliseconds(),
    ]


@case(alone=True)
def configurations_are_compared(env):
    one, other = common.Configuration(), common.Configuration()
    one.set_string("a", "1").set_integer("b", 2).set_boolean("c", True)
    other.set_boolean("c", True).set_integer("b", 2).set_string("a", "1")
    return [
        one == other,
        hash(one) == hash(other),
        sorted(one.to_dict().items()),
        one.get_integer("b", 0),
        one.contains_key("x"),
    ]


@case(alone=True)
def lists_of_configurations(env):
    return [common.Configuration.parse_list_value(text) for text in ("", "a;b", "[a, b]", "a")]


@case(alone=True)
def settings_of_an_environment(env):
    config = env.get_config()
    return [
        env.get_max_parallelism(), env.is_chaining_enabled(), env.get_buffer_timeout(), env.get_checkpoint_interval(),
        config.is_object_reuse_enabled(), config.get_auto_watermark_interval(), config.get_task_cancellation_interval(),
        env.get_checkpointing_mode().name, config.get_max_parallelism(),
    ]  # fmt: skip


@case(alone=True)
def settings_of_checkpoints(env):
    env.enable_checkpointing(3000)
    config = env.get_checkpoint_config()
    return [
        env.get_checkpoint_interval(), env.get_checkpointing_mode().name, config.get_checkpoint_timeout(),
        config.get_min_pause_between_checkpoints(), config.get_max_concurrent_checkpoints(),
        config.get_tolerable_checkpoint_failure_number(), config.is_unaligned_checkpoints_enabled(),
    ]  # fmt: skip
