"""A crew: the workers that are connected to a broker, and what they and the controller send each other there."""
