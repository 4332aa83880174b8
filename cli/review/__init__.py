"""Commands that look through finished jobs."""
