"""Dense vectors where stages take columns of numbers: a stage sees the elements, and knows nothing of vectors."""
