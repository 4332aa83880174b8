"""Pictures: their size and what Exif says."""
