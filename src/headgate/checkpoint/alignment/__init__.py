"""Which input channels of a subtask wait for barriers, and when it takes its snapshot: one strategy for each mode.

    aligner     exactly once: after its barrier a channel waits for the barriers of all other channels; or barriers
                overtake batches, at once or after a time, and these batches become part of the checkpoint
    tracker     at least once: no channel waits

Both take the same events and return the same kinds of effects.
"""
