"""tnef: winmail.dat."""

from reading import files, handler

read = handler("application/vnd.ms-tnef")
SEEDS = files(".tnef", ".dat")
