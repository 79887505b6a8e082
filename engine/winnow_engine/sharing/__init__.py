"""Indexes that a team shares: written once, by CI say, and read by everyone who has the same files.

An index is a folder, on a shared path or behind any HTTP server:

    winnow-index.json     what is there: for each repository its shard, with sizes and hashes
    <content>.table       a shard's table: the key, place and checksum of each record (`table.py`)
    <content>.records     the records, one behind the other, as the store packs them

Records are found by the content of files, as in the store, so what a reader has edited is simply not found. A shard is
named by what it holds: writing an unchanged repository again changes nothing, and a reader never sees half a shard,
because `winnow-index.json` names it last.
"""
