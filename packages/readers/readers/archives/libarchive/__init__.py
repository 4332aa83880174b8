"""What several archive formats are read with: libarchive."""
