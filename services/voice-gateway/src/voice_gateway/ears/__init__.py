"""Ears: what a person says, from sound to a question."""
