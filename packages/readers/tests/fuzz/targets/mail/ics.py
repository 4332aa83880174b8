"""ics: content lines of calendars."""

from reading import files, handler

read = handler("text/calendar")
SEEDS = files(".ics", ".ical")
