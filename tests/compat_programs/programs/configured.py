from pyflink.common import Configuration, RestartStrategies, Types
from pyflink.common.job_status import JobStatus
from pyflink.datastream import (
    CheckpointingMode,
    ExternalizedCheckpointCleanup,
    HashMapStateBackend,
    StreamExecutionEnvironment,
)

config = Configuration()
config.set_integer("parallelism.default", 1)
config.set_string("pipeline.global-job-parameters", "greeting:hello")
env = StreamExecutionEnvironment.get_execution_environment(config)
env.set_state_backend(HashMapStateBackend())
env.set_restart_strategy(RestartStrategies.fixed_delay_restart(3, 100))
env.enable_checkpointing(50, CheckpointingMode.EXACTLY_ONCE)
env.get_checkpoint_config().set_min_pause_between_checkpoints(10)
env.get_checkpoint_config().set_checkpoint_timeout(60000)
env.get_checkpoint_config().set_max_concurrent_checkpoints(1)
env.get_checkpoint_config().enable_externalized_checkpoints(ExternalizedCheckpointCleanup.RETAIN_ON_CANCELLATION)
assert env.get_checkpoint_config().get_checkpoint_interval() == 50
assert env.get_parallelism() == 1

env.from_collection(["a", "b", "a"], Types.STRING()).key_by(lambda s: s).map(lambda s: s + "!").print()
client = env.execute_async("configured")
result = client.get_job_execution_result().result()
assert str(result.get_job_id()) == str(client.get_job_id())
assert client.get_job_status().result() == JobStatus.FINISHED
