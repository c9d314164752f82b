"""Live sessions: a provider owns the turn loop, and everything above it is the same whoever the provider is."""
