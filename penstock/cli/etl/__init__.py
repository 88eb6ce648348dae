"""A job that only does ETL: its module, the catalog of its inputs and outputs, its logical dates, and its runs."""
