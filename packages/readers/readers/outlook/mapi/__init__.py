"""MAPI properties, the content of all Outlook formats."""
