"""Real text in many languages, in the charsets and forms that people write it in."""
