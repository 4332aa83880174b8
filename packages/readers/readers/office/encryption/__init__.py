"""Encrypted office documents."""
