"""Creates, prepares and monitors jobs; starts and scales workers."""
