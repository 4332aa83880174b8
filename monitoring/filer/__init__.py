"""What the filer and this host's kernel say of themselves: wire counters, block devices, file-system space."""
