"""The slot: the mailbox loop of one process, and its subtasks."""
