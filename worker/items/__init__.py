"""What becomes of an item: opened, unpacked, its text taken, its children stored, its findings written."""
