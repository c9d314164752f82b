"""The ingestor: watches a folder of Markdown, cuts what changed into chunks, and tells the bus."""
