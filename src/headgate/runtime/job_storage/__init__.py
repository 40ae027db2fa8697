"""The storage of a job, as the job master uses it, split by owner.

    owner          modules                        work
    snapshots      `lease`, `restore`             takes the lease, finds the snapshot to start from, writes manifests,
                                                  the intent to stop and the result
    clean-up       `clean_up`                     deletes checkpoints that are not retained or were given up, and
                                                  leftovers
    sink commits   `sink_commits`                 prepares sinks; commits and aborts for all subtasks together
    source inputs  `source_inputs`, `sources`     prepares sources, lists splits, acknowledges
    the loop       `job_storage`, `owners`,       orders the work of the owners; knows which snapshots are complete, in
                   `finish`                       doubt or damaged, and which stay when the job has ended

An owner does one piece of work at a time, in the order in which the loop orders it. So two methods of a user's
`GlobalCommitter` or `Acknowledger` never run at the same time. Work that several owners do in turn, such as a restore,
is one function on the loop (`owners.Steps`). Between its steps it checks whether the attempt still counts.
"""
