"""Statements as functions with typed rows, for the rooms outside; `sql.face` makes them."""
