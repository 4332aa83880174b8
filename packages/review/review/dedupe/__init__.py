"""De-duplication: which items, or families, are equal."""
