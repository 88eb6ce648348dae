"""Dense vectors, lists of numbers of one length: made of columns, cut, and multiplied."""
