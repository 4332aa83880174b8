"""`python tests/chaos`: jobs of every kind with faults at seeded moments, and whether anything was lost. Read `campaign` first."""
