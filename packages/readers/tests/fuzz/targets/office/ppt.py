"""ppt: the records of a PowerPoint 97 presentation."""

from reading import files, handler

read = handler("application/vnd.ms-powerpoint")
SEEDS = files(".ppt")
