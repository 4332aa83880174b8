"""Search: the query language, the words of a text, and index engines (Tantivy, Whoosh) behind one interface."""
