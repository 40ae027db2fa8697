"""Batch: the same program over bounded input as stages with a shuffle between, without checkpoints.

A stage is a vertex of the job. Its tasks run the same operators, in the same chain, as a streaming job. Records come to
a keyed operator sorted by key, so that state is held for one key at a time. Nothing here depends on Spark: a deployment
moves batches of columns between tasks according to `ShuffleKind`, and runs each task as a `StageTask`.
`deploy.spark.batch` does so with `mapInArrow` and shuffles of Spark SQL, `deploy.local.batch` in this process;
`deploy.handles.batch_job` commits the sinks when all stages have ended.
"""
