"""Plan of a corpus: every loose file is decided, and the totals are levelled, before a byte is made."""
