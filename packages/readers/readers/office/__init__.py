"""Documents, sheets and presentations of office programs, old and new."""
