from pyflink.datastream import StreamExecutionEnvironment

env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
squares = env.from_collection(list(range(10))).map(lambda n: n * n)

results = squares.execute_and_collect("squares")
print(results.next(), next(results), list(results)[-1])
results.close()

print(squares.execute_and_collect(limit=3))

with squares.filter(lambda n: n % 2 == 0).execute_and_collect() as evens:
    print(list(evens))
