"""djvu: text layers and annotations."""

from djvu_file import djvu
from reading import files, handler

read = handler("image/vnd.djvu")
SEEDS = [*files(".djvu"), djvu("one \x1ftwo", b'(maparea "https://example.org" "seen" (rect 0 0 5 5) (xor))'), djvu()]
