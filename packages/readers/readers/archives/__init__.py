"""Archives and compressed files: containers whose members are children."""
