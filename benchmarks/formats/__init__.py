"""`make bench-formats`: every format's speed and text, beside Apache Tika."""
