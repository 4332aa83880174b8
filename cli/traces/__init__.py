"""Commands on traces: looked at, collected, converted, replayed."""
