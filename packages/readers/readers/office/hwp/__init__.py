"""Documents of Hancom's word processor."""
