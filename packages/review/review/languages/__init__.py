"""Detection of the language of each text."""
