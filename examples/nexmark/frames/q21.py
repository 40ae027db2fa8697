"""Add channel id: bids with the id of their channel, by its name or from the URL, if it has one."""

from __future__ import annotations

from frames.events import EventFrames
from headgate import dataframe as pf
from headgate.table.expressions import call_sql

CHANNEL_ID = """
CASE LOWER(channel)
    WHEN 'apple' THEN '0'
    WHEN 'google' THEN '1'
    WHEN 'facebook' THEN '2'
    WHEN 'baidu' THEN '3'
    ELSE REGEXP_EXTRACT(url, '(&|^)channel_id=([^&]*)', 2)
END
"""


def query(events: EventFrames) -> pf.DataFrame:
    bids = events.records("bid").select("auction", "bidder", "price", "channel", channel_id=call_sql(CHANNEL_ID))
    return bids.filter("channel_id IS NOT NULL")
