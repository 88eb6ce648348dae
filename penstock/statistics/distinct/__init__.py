"""Distinct values of columns, of which there may be very many: counted, estimated, cut into shards."""
