"""Pictures: their size and their Exif data."""
