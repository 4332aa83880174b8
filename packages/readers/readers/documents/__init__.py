"""Documents made to be read or printed: PDF and RTF."""
