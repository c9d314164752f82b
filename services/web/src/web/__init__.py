"""Owns the page: the only port that a person opens."""
