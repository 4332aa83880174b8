"""Pictures, and what cameras write into them."""
