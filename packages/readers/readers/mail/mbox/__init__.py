"""Mail boxes of Unix."""
