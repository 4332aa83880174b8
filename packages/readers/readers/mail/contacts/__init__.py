"""vCards and calendars."""
