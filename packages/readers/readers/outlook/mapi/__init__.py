"""MAPI properties, which all formats of Outlook consist of."""
