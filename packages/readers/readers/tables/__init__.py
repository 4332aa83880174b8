"""Tables: CSV."""
