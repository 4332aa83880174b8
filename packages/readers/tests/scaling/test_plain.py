"""Worst shapes of support/shapes/plain.py, at n and at 2n."""

from scaling import check_of
from shapes import plain

test_twice_the_bytes_take_about_twice_the_effort = check_of(plain.SHAPES)
