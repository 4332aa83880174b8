"""Jobs that take items of others: their numbers beside each other, and what they take."""
