"""What a session travels on."""
