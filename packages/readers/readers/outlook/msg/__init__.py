"""Outlook's loose messages."""
