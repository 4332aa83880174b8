"""Queue manager, ledger and broker under many tasks and many workers."""
