"""One module a revision. They name columns by themselves and not from the tables of today, since those change."""
