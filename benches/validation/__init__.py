"""What the models were compared with: kept as data, written as a page."""
