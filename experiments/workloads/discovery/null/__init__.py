"""Null storage of a discovery: the same work with memory in place of the storage under test, portion by portion (decision 0049)."""
