"""Where data comes from: each module plans fragments of one kind of source and reads pieces of it."""
