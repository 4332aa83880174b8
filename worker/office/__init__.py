"""LibreOffice, where it is installed: documents of word processors, spreadsheets and presentations to PDF, confined
(docs/production.md, decision 66)."""
