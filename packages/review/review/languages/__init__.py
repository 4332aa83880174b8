"""Languages: which one each text is written in."""
