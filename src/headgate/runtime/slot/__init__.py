"""The slot: the mailbox loop of one process, its subtasks, and what it writes and reads of their state."""
