"""Measurements that the web UI starts: commands as child processes of the server."""
