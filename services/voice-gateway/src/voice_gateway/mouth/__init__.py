"""The mouth: an answer's words, from text to sound."""
