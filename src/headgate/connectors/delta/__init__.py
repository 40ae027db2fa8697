"""A sink to Delta Lake tables. Needs the extra: pip install 'headgate[delta]'.

`headgate.connectors.delta.sink` is what programs import.
"""
