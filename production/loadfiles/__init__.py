"""Load files: what an export hands to a review tool, and what another one's says. Nothing here touches a database."""
