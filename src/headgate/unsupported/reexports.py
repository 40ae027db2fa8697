"""Names that PyFlink's modules have only because they import them. Programs import the names from there, too.

A line is `module < home: names`, all without the leading `pyflink.`: the names that PyFlink's `module` re-exports and
that headgate has in `home`. Names that headgate's own modules define are not listed.
"""

from __future__ import annotations

from typing import Final

_LINES: Final = """
common < common.input_dependency_constraint: InputDependencyConstraint
common < common.serializer: TypeSerializer
common < datastream.formats.avro: AvroRowDeserializationSchema AvroRowSerializationSchema
common < datastream.formats.csv: CsvRowDeserializationSchema CsvRowSerializationSchema
common < datastream.formats.json: JsonRowDeserializationSchema JsonRowSerializationSchema
common.completable_future < util.exceptions: convert_py4j_exception
common.config_options < java_gateway: get_gateway
common.configuration < java_gateway: get_gateway
common.configuration < util.java_utils: add_jars_to_context_class_loader
common.execution_config < java_gateway: get_gateway
common.job_status < java_gateway: get_gateway
common.restart_strategy < java_gateway: get_gateway
common.restart_strategy < util.java_utils: from_j_duration to_j_duration
common.serialization < common.utils: JavaObjectWrapper
common.serialization < java_gateway: get_gateway
common.time < java_gateway: get_gateway
common.typeinfo < java_gateway: get_gateway
common.types < java_gateway: get_gateway
common.watermark_strategy < common.time: Duration
common.watermark_strategy < java_gateway: get_gateway
datastream.async_data_stream < datastream.functions: AsyncFunction AsyncFunctionDescriptor AsyncRetryStrategy
datastream.async_data_stream < java_gateway: get_gateway
datastream.async_data_stream < util.java_utils: get_j_env_configuration
datastream.async_retry_strategies < datastream.functions: AsyncRetryPredicate AsyncRetryStrategy
datastream.checkpoint_storage < java_gateway: get_gateway
datastream.checkpointing_mode < java_gateway: get_gateway
datastream.connectors < datastream.connectors.base: DeliveryGuarantee Sink Source
datastream.connectors < datastream.connectors.dynamic_kafka: DynamicKafkaSource DynamicKafkaSourceBuilder
datastream.connectors < datastream.connectors.dynamic_kafka: KafkaMetadataService KafkaRecordDeserializationSchema
datastream.connectors < datastream.connectors.dynamic_kafka: KafkaStreamSetSubscriber KafkaStreamSubscriber
datastream.connectors < datastream.connectors.dynamic_kafka: SingleClusterTopicMetadataService
datastream.connectors < datastream.connectors.dynamic_kafka: StreamPatternSubscriber
datastream.connectors < datastream.connectors.file_system: BucketAssigner FileEnumeratorProvider FileSink
datastream.connectors < datastream.connectors.file_system: FileSource FileSourceBuilder FileSplitAssignerProvider
datastream.connectors < datastream.connectors.file_system: OutputFileConfig RollingPolicy StreamFormat
datastream.connectors < datastream.connectors.file_system: StreamingFileSink
datastream.connectors < datastream.connectors.jdbc: JdbcConnectionOptions JdbcExecutionOptions JdbcSink
datastream.connectors < datastream.connectors.kafka: FlinkKafkaConsumer FlinkKafkaProducer KafkaSource Semantic
datastream.connectors < datastream.connectors.number_seq: NumberSequenceSource
datastream.connectors < datastream.connectors.pulsar: PulsarSource PulsarSourceBuilder StartCursor StopCursor
datastream.connectors < datastream.connectors.rabbitmq: RMQConnectionConfig RMQSink RMQSource
datastream.connectors.base < datastream.functions: JavaFunctionWrapper
datastream.connectors.base < java_gateway: get_gateway
datastream.connectors.dynamic_kafka < common.serialization: DeserializationSchema
datastream.connectors.dynamic_kafka < datastream.connectors.base: Source
datastream.connectors.dynamic_kafka < datastream.connectors.kafka: KafkaOffsetsInitializer
datastream.connectors.dynamic_kafka < java_gateway: get_gateway
datastream.connectors.file_system < common.serialization: RowDataBulkWriterFactory
datastream.connectors.file_system < common.time: Duration
datastream.connectors.file_system < common.utils: JavaObjectWrapper
datastream.connectors.file_system < datastream.connectors.base: Sink Source StreamTransformer SupportsPreprocessing
datastream.connectors.file_system < datastream.functions: SinkFunction
datastream.connectors.file_system < java_gateway: get_gateway
datastream.connectors.file_system < util.java_utils: is_instance_of to_jarray
datastream.connectors.hybrid_source < java_gateway: get_gateway
datastream.connectors.jdbc < common.typeinfo: RowTypeInfo
datastream.connectors.jdbc < datastream.functions: SinkFunction
datastream.connectors.jdbc < java_gateway: get_gateway
datastream.connectors.jdbc < util.java_utils: to_jarray
datastream.connectors.kafka < common.serialization: DeserializationSchema SerializationSchema
datastream.connectors.kafka < common.typeinfo: TypeInformation Types
datastream.connectors.kafka < common.types: Row
datastream.connectors.kafka < datastream.connectors.base: DeliveryGuarantee Sink Source StreamTransformer
datastream.connectors.kafka < datastream.connectors.base: SupportsPreprocessing
datastream.connectors.kafka < datastream.functions: SinkFunction SourceFunction
datastream.connectors.kafka < java_gateway: get_gateway
datastream.connectors.kafka < util.java_utils: get_field get_field_value to_jarray
datastream.connectors.number_seq < datastream.connectors.base: Source
datastream.connectors.number_seq < java_gateway: get_gateway
datastream.data_stream < common.typeinfo: RowTypeInfo
datastream.data_stream < common.types: Row
datastream.data_stream < common.watermark_strategy: TimestampAssigner
datastream.data_stream < datastream.functions: AggregateFunction AllWindowFunction AsyncFunctionDescriptor
datastream.data_stream < datastream.functions: BroadcastProcessFunction CoFlatMapFunction CoMapFunction
datastream.data_stream < datastream.functions: CoProcessFunction Function FunctionWrapper
datastream.data_stream < datastream.functions: InternalIterableAllWindowFunction
datastream.data_stream < datastream.functions: InternalIterableProcessAllWindowFunction
datastream.data_stream < datastream.functions: InternalIterableProcessWindowFunction InternalIterableWindowFunction
datastream.data_stream < datastream.functions: InternalSingleValueAllWindowFunction
datastream.data_stream < datastream.functions: InternalSingleValueProcessAllWindowFunction
datastream.data_stream < datastream.functions: InternalSingleValueProcessWindowFunction
datastream.data_stream < datastream.functions: InternalSingleValueWindowFunction InternalWindowFunction
datastream.data_stream < datastream.functions: KeyedBroadcastProcessFunction KeyedCoProcessFunction
datastream.data_stream < datastream.functions: KeyedProcessFunction ReduceFunction
datastream.data_stream < datastream.functions: NullByteKeySelector Partitioner PassThroughAllWindowFunction
datastream.data_stream < datastream.functions: PassThroughWindowFunction ProcessAllWindowFunction
datastream.data_stream < datastream.functions: ProcessWindowFunction RuntimeContext WindowFunction
datastream.data_stream < datastream.slot_sharing_group: SlotSharingGroup
datastream.data_stream < datastream.state: AggregatingStateDescriptor ListStateDescriptor MapStateDescriptor
datastream.data_stream < datastream.state: ReducingState ReducingStateDescriptor StateDescriptor
datastream.data_stream < datastream.utils: convert_to_python_obj
datastream.data_stream < datastream.window: CountSlidingWindowAssigner CountTumblingWindowAssigner
datastream.data_stream < datastream.window: CountWindowSerializer GlobalWindowSerializer MergingWindowAssigner
datastream.data_stream < datastream.window: TimeWindowSerializer Trigger WindowAssigner WindowOperationDescriptor
datastream.data_stream < java_gateway: get_gateway
datastream.data_stream < util.java_utils: get_j_env_configuration to_jarray
datastream.execution_mode < java_gateway: get_gateway
datastream.externalized_checkpoint_retention < java_gateway: get_gateway
datastream.formats.avro < common.io: InputFormat
datastream.formats.avro < common.serialization: BulkWriterFactory DeserializationSchema SerializationSchema
datastream.formats.avro < common.typeinfo: TypeInformation
datastream.formats.avro < datastream.utils: ResultTypeQueryable
datastream.formats.avro < java_gateway: get_gateway
datastream.formats.avro < util.java_utils: get_field_value load_java_class
datastream.formats.csv < common.serialization: BulkWriterFactory DeserializationSchema RowDataBulkWriterFactory
datastream.formats.csv < common.serialization: SerializationSchema
datastream.formats.csv < common.typeinfo: TypeInformation
datastream.formats.csv < datastream.connectors.file_system: StreamFormat
datastream.formats.csv < java_gateway: get_gateway
datastream.formats.json < common.serialization: DeserializationSchema SerializationSchema
datastream.formats.json < common.typeinfo: TypeInformation
datastream.formats.json < java_gateway: get_gateway
datastream.formats.orc < common.configuration: Configuration
datastream.formats.orc < common.serialization: BulkWriterFactory RowDataBulkWriterFactory
datastream.formats.orc < datastream.utils: create_hadoop_configuration create_java_properties
datastream.formats.orc < java_gateway: get_gateway
datastream.formats.orc < util.java_utils: to_jarray
datastream.formats.parquet < common.configuration: Configuration
datastream.formats.parquet < common.serialization: BulkWriterFactory RowDataBulkWriterFactory
datastream.formats.parquet < datastream.connectors.file_system: BulkFormat StreamFormat
datastream.formats.parquet < datastream.formats.avro: AvroSchema
datastream.formats.parquet < datastream.utils: create_hadoop_configuration
datastream.formats.parquet < java_gateway: get_gateway
datastream.functions < datastream.state: AggregatingState AggregatingStateDescriptor BroadcastState ListState
datastream.functions < datastream.state: ListStateDescriptor MapState MapStateDescriptor ReadOnlyBroadcastState
datastream.functions < datastream.state: ReducingState ReducingStateDescriptor ValueState ValueStateDescriptor
datastream.functions < datastream.time_domain: TimeDomain
datastream.functions < java_gateway: get_gateway
datastream.functions < metrics.metricbase: MetricGroup
datastream.output_tag < common.typeinfo: RowTypeInfo TypeInformation Types
datastream.output_tag < java_gateway: get_gateway
datastream.slot_sharing_group < java_gateway: get_gateway
datastream.state < common.time: Duration Time
datastream.state < common.typeinfo: TypeInformation Types
datastream.state_backend < java_gateway: get_gateway
datastream.state_backend < util.java_utils: load_java_class
datastream.stream_execution_environment < common.execution_config: ExecutionConfig
datastream.stream_execution_environment < common.io: InputFormat
datastream.stream_execution_environment < common.typeinfo: Types
datastream.stream_execution_environment < datastream.checkpoint_config: CheckpointConfig
datastream.stream_execution_environment < datastream.checkpointing_mode: CheckpointingMode
datastream.stream_execution_environment < datastream.execution_mode: RuntimeExecutionMode
datastream.stream_execution_environment < datastream.functions: SourceFunction
datastream.stream_execution_environment < datastream.slot_sharing_group: SlotSharingGroup
datastream.stream_execution_environment < datastream.utils: ResultTypeQueryable
datastream.stream_execution_environment < java_gateway: get_gateway
datastream.stream_execution_environment < serializers: PickleSerializer
datastream.stream_execution_environment < util.api_stability_decorators: Public
datastream.stream_execution_environment < util.java_utils: add_jars_to_context_class_loader get_field_value
datastream.stream_execution_environment < util.java_utils: get_j_env_configuration invoke_method
datastream.stream_execution_environment < util.java_utils: is_local_deployment
datastream.window < common.time: Time
datastream.window < common.typeinfo: Types
datastream.window < common.serializer: TypeSerializer
datastream.window < datastream.functions: InternalWindowFunction ReduceFunction RuntimeContext
datastream.window < datastream.output_tag: OutputTag
datastream.window < datastream.state: ReducingState ReducingStateDescriptor State StateDescriptor ValueStateDescriptor
datastream.window < metrics.metricbase: MetricGroup
"""


def _homes() -> dict[tuple[str, str], str]:
    homes: dict[tuple[str, str], str] = {}
    for line in filter(None, _LINES.splitlines()):
        where, _, names = line.partition(": ")
        module, _, home = where.partition(" < ")
        homes |= {(module, name): home for name in names.split()}
    return homes


HOMES: Final = _homes()
"""The module that defines a name, by the module of PyFlink that re-exports the name, and the name."""
