"""Commands on corpora: made, described, checked."""
