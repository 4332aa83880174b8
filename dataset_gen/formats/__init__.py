"""One module a format; each has `build(order) -> Made`."""
