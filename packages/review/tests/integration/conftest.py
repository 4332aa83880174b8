"""The web application over a copy of the finished job, for the tests of pages."""

from web_site import make_site, shared_copy, site

__all__ = ["make_site", "shared_copy", "site"]
