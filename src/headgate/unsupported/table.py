"""The one table of what PyFlink has and headgate does not (yet).

Modules and classes raise their errors from it, and docs/compat.md is generated from it. Remove a feature here when you
build it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """A feature of PyFlink that is missing.

    `names` has a line for each module or class, or `owner: name name` for some names of an owner, all without the
    leading `pyflink.`. `values` has the same form, for names that exist but whose use is refused. `options` has a
    line for each configuration key: `key` (refused), `key=value` (this value is refused) or `key!=value` (every
    other value is). `planned` tells whether it is meant to come.
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
        title="Windows, triggers and window functions",
        instead=_KEYED_STATE,
        names="""
            datastream.window
            datastream: CountWindow GlobalWindow MergingWindowAssigner TimeWindow Trigger TriggerResult Window
            datastream: WindowAssigner
            datastream.data_stream: AllWindowedStream WindowedStream
            datastream.data_stream.DataStream: window_all
            datastream.data_stream.KeyedStream: count_window window
            datastream.functions: AllWindowFunction PassThroughAllWindowFunction PassThroughWindowFunction
            datastream.functions: ProcessAllWindowFunction ProcessWindowFunction WindowFunction
            datastream.functions: InternalIterableAllWindowFunction InternalIterableProcessAllWindowFunction
            datastream.functions: InternalIterableProcessWindowFunction InternalIterableWindowFunction
            datastream.functions: InternalProcessAllWindowContext InternalProcessWindowContext
            datastream.functions: InternalSingleValueAllWindowFunction InternalSingleValueProcessAllWindowFunction
            datastream.functions: InternalSingleValueProcessWindowFunction InternalSingleValueWindowFunction
            datastream.functions: InternalWindowFunction
        """,
    ),
    Feature(
        title="Joins of streams, which Flink has for Java",
        instead="connect() the two streams, key_by() both, and keep the records that wait for others in state of a "
        "KeyedCoProcessFunction, with a timer that removes them",
        names="""
            datastream.data_stream.DataStream: co_group join
            datastream.data_stream.KeyedStream: interval_join
        """,
    ),
    Feature(
        title="Watermark alignment and ingestion time",
        instead="leave alignment out, and give streams timestamps with a WatermarkStrategy",
        names="""
            common.watermark_strategy: AssignerWithPeriodicWatermarksWrapper
            common.watermark_strategy.WatermarkStrategy: with_watermark_alignment
        """,
        values="datastream.time_characteristic.TimeCharacteristic: IngestionTime",
    ),
    Feature(
        title="State backends other than the hash map and RocksDB, and options of RocksDB's own",
        instead="use RocksDB as it is set up, with the options of docs/backends.md",
        planned=False,
        names="""
            datastream.state_backend.EmbeddedRocksDBStateBackend: get_number_of_transfer_threads get_options
            datastream.state_backend.EmbeddedRocksDBStateBackend: set_number_of_transfer_threads set_options
        """,
        values="""
            datastream.state_backend.PredefinedOptions: SPINNING_DISK_OPTIMIZED SPINNING_DISK_OPTIMIZED_HIGH_MEM
            datastream.state_backend.PredefinedOptions: FLASH_SSD_OPTIMIZED
        """,
        options="""
            state.backend.type=forst
            state.backend.rocksdb.predefined-options!=default
            state.backend.rocksdb.options-factory
        """,
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
        title="Snapshots of the hash map that stop the job",
        instead="leave it out: snapshots are asynchronous, and still hold the state as it was at the barrier",
        planned=False,
        options="state.backend.async!=true",
    ),
    Feature(
        title="Another interval of checkpoints while sources catch up with a backlog",
        instead="leave it out, or set 0: no source reports a backlog",
        planned=False,
        options="execution.checkpointing.interval-during-backlog!=0",
    ),
    Feature(
        title="Claim mode LEGACY, which does not tell who owns a snapshot",
        instead="use NO_CLAIM, the default, or CLAIM where the job is to delete the snapshot",
        options="execution.state-recovery.claim-mode=LEGACY",
        planned=False,
    ),
    Feature(
        title="Asynchronous calls",
        instead="call the other system in map() or process_element(), in batches where it allows",
        names="""
            datastream.async_data_stream
            datastream.async_retry_predicates
            datastream.async_retry_strategies
            datastream: AsyncDataStream
            datastream.functions: AsyncFunction AsyncFunctionDescriptor AsyncRetryPredicate AsyncRetryStrategy
        """,
    ),
    Feature(
        title="Cached streams",
        instead="write the stream to files, and have the next job read them",
        names="""
            datastream.data_stream: CachedDataStream
            datastream.data_stream.DataStream: cache
        """,
    ),
    Feature(
        title="Accumulators of a running job",
        instead="read the counters of sources from the JobExecutionResult, or emit what you count as records",
        names="common.job_client.JobClient: get_accumulators",
    ),
    Feature(
        title="Connectors that are not built yet",
        instead="read with Spark and hand the DataFrame over with env.from_spark(df), or use the file connectors",
        names="""
            datastream.connectors.cassandra
            datastream.connectors.elasticsearch
            datastream.connectors.hybrid_source
            datastream.connectors.kinesis
            datastream.connectors.pulsar
            datastream.connectors.rabbitmq
        """,
    ),
    Feature(
        title="The Kafka consumer and producer of before Flink 1.14",
        instead="use KafkaSource.builder() and KafkaSink.builder()",
        planned=False,
        names="""
            datastream.connectors.kafka: FlinkKafkaConsumer FlinkKafkaConsumerBase FlinkKafkaProducer
            datastream.connectors.kafka: FlinkKafkaProducerBase Semantic
            datastream.connectors.kafka.KafkaSink: get_transformer
        """,
    ),
    Feature(
        title="Compaction of files, and the finer settings of file sources",
        instead="compact what is written with a job of its own, or set a longer checkpoint interval",
        names="""
            datastream.connectors.file_system: FileCompactStrategy FileCompactor FileEnumeratorProvider
            datastream.connectors.file_system: FileSplitAssignerProvider StreamingFileSink
            datastream.connectors.file_system.FileSink.BaseBuilder: disable_compact enable_compact
            datastream.connectors.file_system.FileSourceBuilder: set_file_enumerator set_split_assigner
        """,
    ),
    Feature(
        title="Slot sharing groups",
        instead="leave it out: each slot runs a subtask of every operator",
        planned=False,
        names="""
            datastream.slot_sharing_group
            datastream: MemorySize SlotSharingGroup
            datastream.data_stream.DataStream: slot_sharing_group
            datastream.data_stream.DataStreamSink: slot_sharing_group
            datastream.stream_execution_environment.StreamExecutionEnvironment: register_slot_sharing_group
        """,
    ),
    Feature(
        title="Files in the distributed cache",
        instead="ship them with env.add_python_archive(), or Spark's --files and --archives",
        planned=False,
        names="""
            common.dependency_manager
            datastream.stream_execution_environment.StreamExecutionEnvironment: register_cached_file
        """,
    ),
    Feature(
        title="The Java side and the inner classes of PyFlink",
        instead="records pass through no JVM; use the Python classes, and Spark for what only Java can do",
        planned=False,
        names="""
            java_gateway
            pyflink_gateway_server
            util
            serializers
            common.input_dependency_constraint
            common.io
            common.serializer
            common.utils
            datastream.utils
            common.serialization: RowDataBulkWriterFactory
            common.typeinfo: ExternalTypeInfo
            common.typeinfo.LocalTimeTypeInfo: get_java_type_info
            datastream.formats.avro.GenericRecordAvroTypeInfo: get_java_type_info
            common.typeinfo.TypeInformation: get_java_type_info
            datastream.output_tag.OutputTag: get_java_output_tag
            common.typeinfo.TypeInformation: from_internal_type need_conversion to_internal_type
            common.typeinfo.DateTypeInfo: EPOCH_ORDINAL
            common.typeinfo.TimeTypeInfo: EPOCH_ORDINAL
            common.configuration.Configuration: parse_list_value
            datastream.functions: FunctionWrapper JavaFunctionWrapper NullByteKeySelector ReduceFunctionWrapper
            datastream.data_stream.KeyedStream: AccumulateType
            datastream.connectors.base: StreamTransformer SupportsPreprocessing
            datastream.connectors.file_system.FileSink: get_transformer
            datastream.checkpoint_storage: CustomCheckpointStorage
            datastream.state_backend: CustomStateBackend
            datastream.stream_execution_environment.StreamExecutionEnvironment: add_classpaths add_jars
        """,
        options="""
            pipeline.jars
            pipeline.classpaths
        """,
    ),
    Feature(
        title="Settings of Flink's Java runtime",
        instead="leave them out: values travel as Python objects, and Spark keeps the processes",
        planned=False,
        names="""
            common.execution_config.ExecutionConfig: disable_force_avro disable_force_kryo disable_generic_types
            common.execution_config.ExecutionConfig: enable_force_avro enable_force_kryo enable_generic_types
            common.execution_config.ExecutionConfig: has_generic_types_disabled is_force_avro_enabled
            common.execution_config.ExecutionConfig: is_force_kryo_enabled get_default_kryo_serializer_classes
            common.execution_config.ExecutionConfig: get_registered_kryo_types get_registered_pojo_types
            common.execution_config.ExecutionConfig: disable_closure_cleaner enable_closure_cleaner
            common.execution_config.ExecutionConfig: is_closure_cleaner_enabled
            common.execution_config.ExecutionConfig: get_latency_tracking_interval set_latency_tracking_interval
            common.execution_config.ExecutionConfig: get_task_cancellation_interval set_task_cancellation_interval
            common.execution_config.ExecutionConfig: get_task_cancellation_timeout set_task_cancellation_timeout
            common.execution_config.ExecutionConfig: is_use_snapshot_compression set_use_snapshot_compression
        """,
        options="""
            pipeline.force-kryo!=false
            pipeline.force-avro!=false
            pipeline.generic-types!=true
            execution.checkpointing.snapshot-compression!=false
            execution.checkpointing.storage=custom
            execution.buffer-timeout.enabled!=true
        """,
    ),
    Feature(
        title="A parallelism of all local environments",
        instead="use env.set_parallelism(n) or -Dparallelism.default=n",
        planned=False,
        names="""
            datastream.stream_execution_environment.StreamExecutionEnvironment: get_default_local_parallelism
            datastream.stream_execution_environment.StreamExecutionEnvironment: set_default_local_parallelism
        """,
    ),
    Feature(
        title="Copies between chained operators, and uids that must be given",
        instead="do not change a record after emitting it; give an operator a uid with .uid()",
        planned=False,
        names="""
            common.execution_config.ExecutionConfig: disable_object_reuse
            common.execution_config.ExecutionConfig: disable_auto_generated_uids enable_auto_generated_uids
            common.execution_config.ExecutionConfig: has_auto_generated_uids_enabled
        """,
        options="pipeline.auto-generate-uids!=true",
    ),
    Feature(
        title="The Table API and SQL",
        instead="use Spark SQL before and after: env.from_spark(df) and stream.to_spark(); only DataTypes is there, "
        "for the columns of files",
        planned=False,
        names="""
            table: TableEnvironment StreamTableEnvironment Table StatementSet EnvironmentSettings TableConfig
            table: GroupedTable GroupWindowedTable OverWindowedTable WindowGroupedTable ScalarFunction TableFunction
            table: AggregateFunction TableAggregateFunction AsyncScalarFunction FunctionContext DataView ListView
            table: MapView TableDescriptor FormatDescriptor Schema Module ModuleEntry SqlDialect UserDefinedType
            table: Expression TableSchema TableResult ChangelogMode ExplainDetail ResultKind CompiledPlan PlanReference
            table: TablePipeline
            table: catalog changelog_mode compiled_plan data_view descriptors environment_settings explain_detail
            table: expression expressions functions model_descriptor module plan_reference resolved_expression
            table: result_kind schema serializers sql_dialect statement_set table table_config table_descriptor
            table: table_environment table_pipeline table_result table_schema udf utils window
            table.types: UserDefinedType
            dataset
            fn_execution
        """,
    ),
)
