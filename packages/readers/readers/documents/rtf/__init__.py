"""RTF, and its compressed form in mail of Outlook."""
