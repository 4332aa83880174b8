"""Worst shapes of support/shapes/sheets.py, at n and at 2n."""

from scaling import check_of
from shapes import sheets

test_twice_the_bytes_take_about_twice_the_effort = check_of(sheets.SHAPES)
