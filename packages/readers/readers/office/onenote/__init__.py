"""OneNote."""
