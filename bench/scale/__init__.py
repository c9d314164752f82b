"""What one of everything does, what two and four of it do, and what many would."""
