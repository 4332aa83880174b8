"""Outlook's message stores."""
