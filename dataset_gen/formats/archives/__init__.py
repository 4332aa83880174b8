"""Archives: zip, tar, 7z, and mail that a person packed."""
