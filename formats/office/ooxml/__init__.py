"""Office Open XML."""
