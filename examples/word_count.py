"""Word count: the number of times that each word was seen so far, for every word.

python examples/word_count.py                                         on Spark, in an embedded session
python examples/word_count.py -Dheadgate.deploy.target=minicluster    in this process, without Spark or Java
"""

from __future__ import annotations

from headgate.common import Types
from headgate.datastream import StreamExecutionEnvironment

LINES = [
    "To be, or not to be, that is the question:",
    "Whether 'tis nobler in the mind to suffer",
    "The slings and arrows of outrageous fortune",
    "Or to take arms against a sea of troubles,",
]


def words(line: str) -> list[tuple[str, int]]:
    return [(word.strip(",:'").lower(), 1) for word in line.split()]


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    (
        env.from_collection(LINES)
        .flat_map(words, output_type=Types.TUPLE([Types.STRING(), Types.INT()]))
        .key_by(lambda count: count[0])
        .sum(1)
        .print()
    )
    env.execute("word count")
