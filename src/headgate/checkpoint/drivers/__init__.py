"""Files in a job's folder through which its drivers speak to each other: ownership, records, intents, addresses."""
