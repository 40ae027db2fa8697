"""The events of Nexmark: persons, auctions and bids, each a function of a seed and the number of the event.

>>> from generator.events import Settings, events
>>> events(0, 50, Settings()).column("event_type").to_pylist().count(2)
46
"""
