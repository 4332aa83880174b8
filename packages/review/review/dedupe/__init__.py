"""De-duplication of items or families."""
