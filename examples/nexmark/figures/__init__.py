"""Figures: what each engine needs for the queries. `measure.py` begins here.

Each program `on_...` runs an engine. A line of its input is a query: its name, the folder of its events, and the file
for its results, without which they are dropped. It answers with the line `done`.
"""
