"""Internet mail, its stores, and contacts."""
