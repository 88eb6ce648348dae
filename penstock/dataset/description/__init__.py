"""What the columns of a dataset hold: gathered in one scan, kept as plain numbers, shown as a table."""
