"""The scripts that Redis runs as one step each."""
