"""program: a stub with a cabinet behind it."""

from reading import handler

from .cab import SEEDS as CABINETS

read = handler("application/x-dosexec")
SEEDS = [b"MZ".ljust(64, b"\0") + CABINETS[0]]
