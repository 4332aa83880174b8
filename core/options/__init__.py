"""What a job was asked to do, in parts (core.records.JobOptions holds them)."""
