"""The runtime of a job: slots that run subtasks, the exchange between them, the job master that watches over them."""
