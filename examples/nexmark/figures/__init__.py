"""Figures: what each engine needs for the queries. `measure.py` begins here."""
