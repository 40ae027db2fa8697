"""The runtime: mailbox loop, channels, slots, and the job master that watches over them."""
