"""Files of Outlook."""
