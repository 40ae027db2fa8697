"""What the job master stores, split by owner: the lease, snapshots, clean-up, sink commits, source inputs.

    owner          in                             does
    snapshots      `lease`, `snapshots`,          takes the lease, finds what an attempt starts from, writes manifests,
                   `restore`                      the intent to stop and the result
    clean-up       `clean_up`                     deletes what is not retained, was given up, or was left behind
    sink commits   `sink_commits`                 prepares sinks; commits and aborts for all subtasks together
    source inputs  `source_inputs`, `sources`     prepares sources, lists splits, acknowledges
    the loop       `job_storage`, `owners`,       says who does what in which order; knows what is complete, in doubt
                   `finish`                       and damaged, and what stays when the job has ended

An owner does one piece of work at a time, in the order in which the loop asks for it. So no method of a user's
`GlobalCommitter` or `Acknowledger` is called while another one runs. Work that several owners do in turn, such as a
restore, is one function on the loop (`owners.Steps`). Between the steps it checks whether the attempt still counts.
"""
