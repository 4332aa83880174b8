"""Whether texts in many languages and charsets, which nothing declares, are read as they were written."""
