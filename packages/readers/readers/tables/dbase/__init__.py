"""dBASE tables and their memos."""
