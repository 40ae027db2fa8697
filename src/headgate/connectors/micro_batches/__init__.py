"""A source of numbered batches that a query outside hands over and wants to have acknowledged, one after the other."""
