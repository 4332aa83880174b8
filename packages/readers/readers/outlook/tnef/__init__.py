"""winmail.dat."""
