"""State that expires: what was not written for a second is gone, and takes no room in checkpoints any more.

python examples/state/ttl.py
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from headgate.common import Time, Types
from headgate.datastream import KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from headgate.datastream.state import StateTtlConfig, ValueStateDescriptor


class LastText(KeyedProcessFunction):
    """Tells what a user has said before, as long as that is not too long ago."""

    def open(self, runtime_context: RuntimeContext) -> None:
        ttl_config = (
            StateTtlConfig.new_builder(Time.seconds(1))
            # Creating and writing the state, not reading it, begins the second again.
            .set_update_type(StateTtlConfig.UpdateType.OnCreateAndWrite)
            # What has expired is not seen, even if nothing has cleaned it up yet.
            .set_state_visibility(StateTtlConfig.StateVisibility.NeverReturnExpired)
            .build()
        )
        state_descriptor = ValueStateDescriptor("text state", Types.STRING())
        state_descriptor.enable_time_to_live(ttl_config)
        self.text = runtime_context.get_state(state_descriptor)

    def process_element(self, value: tuple[str, str], ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        user, text = value
        if text == "(silence)":
            time.sleep(1.1)  # in place of a stream on which nothing comes for a while
            return
        before = self.text.value()
        self.text.update(text)
        yield f"{user} says {text}, after {before or 'nothing'}"


SAID = [("ann", "one"), ("ann", "two"), ("bob", "one"), ("bob", "(silence)"), ("ann", "three"), ("ann", "four")]

if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)  # so that lines come in order
    env.from_collection(SAID).key_by(lambda said: said[0]).process(LastText()).print()
    env.execute("time to live")
