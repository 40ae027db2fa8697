"""The table of PyFlink's features that headgate does not have (yet).

The errors of modules and classes come from this table, and docs/reference/compat.md is generated from it. Remove a
feature from the table when you build it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A missing feature of PyFlink.

    `names` has a line for each module or class, or `owner: name name` for names of an owner, all without the leading
    `pyflink.`. `values` has the same form, for names that exist but whose use is refused. `options` has a line
    `key=value` for each refused value of a configuration key. `planned` tells whether the feature is planned.
    """

    title: str
    instead: str
    planned: bool = True
    names: str = ""
    values: str = ""
    options: str = ""


_KEYED_STATE = "keep what you need in a ValueState of a KeyedProcessFunction"

FEATURES: Final = (
    Feature(
        title="Ingestion time",
        instead="give streams timestamps with a WatermarkStrategy",
        names="common.watermark_strategy: AssignerWithPeriodicWatermarksWrapper",
        values="datastream.time_characteristic.TimeCharacteristic: IngestionTime",
    ),
    Feature(
        title="State backends other than the hash map and RocksDB",
        instead="use RocksDB, with the options of docs/guides/backends.md",
        planned=False,
        options="state.backend.type=forst",
    ),
    Feature(
        title="Raw state",
        instead="keep bytes in a ListState of get_operator_state_store(), or in keyed state",
        planned=False,
        names="""
            datastream.functions.FunctionInitializationContext: get_raw_keyed_state_inputs get_raw_operator_state_inputs
            datastream.functions.FunctionSnapshotContext: get_raw_keyed_operator_state_output
            datastream.functions.FunctionSnapshotContext: get_raw_operator_state_output
        """,
    ),
    Feature(
        title="Claim mode LEGACY, which does not tell who owns a snapshot",
        instead="use NO_CLAIM, the default, or CLAIM where the job is to delete the snapshot",
        options="execution.state-recovery.claim-mode=LEGACY",
        planned=False,
    ),
    Feature(
        title="Connectors that are not built yet",
        instead="read with Spark and hand the DataFrame over with env.from_spark(df); write with SparkSink, which "
        "drives the stream writer of a PySpark data source (docs/guides/spark-sinks.md); or use the file connectors",
        names="""
            datastream.connectors.cassandra
            datastream.connectors.elasticsearch
            datastream.connectors.kinesis
            datastream.connectors.pulsar
            datastream.connectors.rabbitmq
        """,
    ),
    Feature(
        title="The Kafka consumer and producer from before Flink 1.14",
        instead="use KafkaSource.builder() and KafkaSink.builder()",
        planned=False,
        names="""
            datastream.connectors.kafka: FlinkKafkaConsumer FlinkKafkaConsumerBase FlinkKafkaProducer
            datastream.connectors.kafka: FlinkKafkaProducerBase Semantic
            datastream.connectors.kafka.KafkaSink: get_transformer
        """,
    ),
    Feature(
        title="PyFlink's own way to keep dependencies",
        instead="use env.add_python_file(), add_python_archive() and register_cached_file()",
        planned=False,
        names="common.dependency_manager",
    ),
    Feature(
        title="The Java side and the inner classes of PyFlink",
        instead="records pass through no JVM; use the Python classes, and Spark for what only Java can do",
        planned=False,
        names="""
            datastream.functions: InternalIterableAllWindowFunction InternalIterableProcessAllWindowFunction
            datastream.functions: InternalIterableProcessWindowFunction InternalIterableWindowFunction
            datastream.functions: InternalProcessAllWindowContext InternalProcessWindowContext
            datastream.functions: InternalSingleValueAllWindowFunction InternalSingleValueProcessAllWindowFunction
            datastream.functions: InternalSingleValueProcessWindowFunction InternalSingleValueWindowFunction
            datastream.functions: InternalWindowFunction
            common.serializer: VoidNamespaceSerializer
            datastream.window: Min WindowOperationDescriptor long_to_int_with_bit_mixing mod_inverse
            datastream.window.ContinuousEventTimeTrigger: register_next_fire_timestamp
            datastream.window.ContinuousProcessingTimeTrigger: register_next_fire_timestamp
            java_gateway
            pyflink_gateway_server
            util
            serializers
            common.input_dependency_constraint
            common.io
            common.utils
            datastream.utils
            find_flink_home
            gen_protos
            pyflink_callback_server
            shell
            common.serialization: RowDataBulkWriterFactory
            common.typeinfo: ExternalTypeInfo
            common.types.RowKind: to_j_row_kind
            common.typeinfo.LocalTimeTypeInfo: get_java_type_info
            datastream.formats.avro.GenericRecordAvroTypeInfo: get_java_type_info
            common.typeinfo.TypeInformation: get_java_type_info
            datastream.output_tag.OutputTag: get_java_output_tag
            datastream.slot_sharing_group.MemorySize: get_java_memory_size
            datastream.slot_sharing_group.SlotSharingGroup: get_java_slot_sharing_group
            common.typeinfo.TypeInformation: from_internal_type need_conversion to_internal_type
            common.typeinfo.DateTypeInfo: EPOCH_ORDINAL
            common.typeinfo.TimeTypeInfo: EPOCH_ORDINAL
            datastream.functions: FunctionWrapper JavaFunctionWrapper NullByteKeySelector ReduceFunctionWrapper
            datastream.data_stream.KeyedStream: AccumulateType
            datastream.connectors.base: StreamTransformer SupportsPreprocessing
            datastream.connectors.file_system.FileSink: get_transformer
            datastream.checkpoint_storage: CustomCheckpointStorage
            datastream.state_backend: CustomStateBackend
        """,
    ),
    Feature(
        title="Checkpoint storage of the user's own, for Java only",
        instead="give the checkpoints a folder: execution.checkpointing.dir",
        planned=False,
        options="execution.checkpointing.storage=custom",
    ),
    Feature(
        title="The test kit of PyFlink itself",
        instead="test functions with headgate.testing.harness, and run programs in this process with "
        "headgate.deploy.target=minicluster",
        planned=False,
        names="""
            testing.source_sink_utils
            testing.test_case_utils
        """,
    ),
    Feature(
        title="The Table API, and SQL statements",
        instead="use headgate.dataframe (docs/guides/dataframe-api.md), or Spark SQL before and after: "
        "env.from_spark(df) and stream.to_spark(). headgate.table has TableEnvironment, EnvironmentSettings, "
        "TableConfig, Expression and DataTypes; headgate.table.expressions has functions",
        planned=False,
        names="""
            table: StreamTableEnvironment Table StatementSet
            table: GroupedTable GroupWindowedTable OverWindowedTable WindowGroupedTable ScalarFunction TableFunction
            table: AggregateFunction TableAggregateFunction AsyncScalarFunction FunctionContext DataView ListView
            table: MapView TableDescriptor FormatDescriptor Schema Module ModuleEntry SqlDialect UserDefinedType
            table: TableSchema TableResult ChangelogMode ExplainDetail ResultKind CompiledPlan PlanReference
            table: TablePipeline
            table: catalog changelog_mode compiled_plan data_view descriptors environment_settings explain_detail
            table: functions model_descriptor module plan_reference resolved_expression
            table: result_kind schema serializers sql_dialect statement_set table table_config table_descriptor
            table: table_pipeline table_result table_schema udf utils window
            table.types: UserDefinedType
            table.table_environment: StreamTableEnvironment
            table.table_environment.TableEnvironment: add_python_archive add_python_file compile_plan_sql
            table.table_environment.TableEnvironment: create_catalog create_function create_java_function
            table.table_environment.TableEnvironment: create_java_temporary_function
            table.table_environment.TableEnvironment: create_java_temporary_system_function create_statement_set
            table.table_environment.TableEnvironment: create_table create_temporary_function
            table.table_environment.TableEnvironment: create_temporary_system_function create_temporary_table
            table.table_environment.TableEnvironment: create_temporary_view create_view drop_function drop_table
            table.table_environment.TableEnvironment: drop_temporary_function drop_temporary_system_function
            table.table_environment.TableEnvironment: drop_temporary_table drop_temporary_view drop_view execute_plan
            table.table_environment.TableEnvironment: execute_sql explain_sql from_descriptor from_elements from_pandas
            table.table_environment.TableEnvironment: from_path get_catalog get_current_catalog get_current_database
            table.table_environment.TableEnvironment: list_catalogs list_databases list_full_modules list_functions
            table.table_environment.TableEnvironment: list_modules list_tables list_temporary_tables
            table.table_environment.TableEnvironment: list_temporary_views list_user_defined_functions list_views
            table.table_environment.TableEnvironment: load_module load_plan register_catalog register_function
            table.table_environment.TableEnvironment: register_java_function set_python_requirements sql_query
            table.table_environment.TableEnvironment: unload_module use_catalog use_database use_modules
            dataframe: from_table
            dataframe.DataFrame: to_table
            dataset
            fn_execution
        """,
    ),
    Feature(
        title="SQL queries over DataFrames",
        instead="use the methods of DataFrames; filter(), computed_columns and call_sql() take SQL expressions",
        names="dataframe: sql",
    ),
    Feature(
        title="Operators of DataFrames that are not built yet",
        instead="group by windows, or use the DataStream API, which has keyed state, joins and timers, or Spark before "
        "and after the job",
        names="""
            dataframe.DataFrame: top_n
            dataframe: proctime
            table.expression.Expression: rowtime proctime
        """,
    ),
    Feature(
        title="Expressions that are not built yet",
        instead="compute the value with udf(), or with map_batches()",
        names="""
            table.expression.Expression: collect list_agg percentile
            table.expressions: call current_database range_ reinterpret_cast row_interval
            table.expressions: source_watermark with_columns without_columns
            table.expressions: UNBOUNDED_ROW UNBOUNDED_RANGE CURRENT_ROW CURRENT_RANGE
        """,
    ),
    Feature(
        title="Catalogs, whose factories are in Java",
        instead="give path and schema to read_parquet() or read_json(), or read the table with Spark",
        planned=False,
        names="""
            dataframe: create_catalog get_catalog use_catalog get_current_catalog list_catalogs
            dataframe: use_database get_current_database list_databases read_catalog_table
            dataframe.DataFrame: write_catalog_table
        """,
    ),
    Feature(
        title="Model providers, which are in Java",
        instead="call the model in map_batches() or in a udf(), with the client library of its service",
        planned=False,
        names="""
            dataframe: ModelProvider OpenAIProvider TritonProvider GenericProvider
            dataframe: set_model_provider set_default_model_provider list_model_providers
        """,
    ),
)
