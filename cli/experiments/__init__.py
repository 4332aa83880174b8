"""Commands that measure at several points, compare, predict, or break things."""
