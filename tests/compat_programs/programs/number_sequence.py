from pyflink.common import Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.number_seq import NumberSequenceSource

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(2)
ds = env.from_source(
    source=NumberSequenceSource(1, 100),
    watermark_strategy=WatermarkStrategy.no_watermarks(),
    source_name="numbers",
    type_info=Types.LONG(),
)
ds.key_by(lambda n: n % 10 == 0).sum().filter(lambda total: total in (550, 4500)).print().set_parallelism(1)
result = env.execute("sum of numbers")
assert result.get_net_runtime() >= 0
assert len(str(result.get_job_id())) == 32
