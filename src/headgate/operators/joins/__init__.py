"""Joins: operators that find the records of two keyed streams that belong together by their times."""
