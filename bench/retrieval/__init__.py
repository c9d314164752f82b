"""How well passages are found and questions are answered or declined, measured on a corpus of questions."""
