"""Internet mail and what travels in it."""
