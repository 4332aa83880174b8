"""Measurements that the page starts: the command, as a child of the server."""
