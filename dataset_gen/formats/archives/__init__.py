"""Archives: zip, tar, 7z, and mail that somebody packed."""
