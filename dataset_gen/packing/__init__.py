"""Writers of compressed bytes: deflate, zip, 7z."""
