"""What a corpus will hold: every loose file decided, and the totals levelled, before a byte is made."""
