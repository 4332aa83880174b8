"""`make bench-formats`: every format's speed and text, compared with Apache Tika."""
