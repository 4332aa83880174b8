"""Tables: CSV and dBASE."""
