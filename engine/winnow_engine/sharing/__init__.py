"""Indexes that a team shares: written once, by CI say, and read by everyone who has the same files.

An index is a folder, on a shared path or behind any HTTP server:

    winnow-index.json     for each repository its shard, with sizes and hashes
    <content>.table       a shard's table: the key, place and checksum of each record (`table.py`)
    <content>.records     the records, one behind the other, as the store packs them

Records are found by the content of files. A shard is named by its content, so writing an unchanged repository again
changes nothing, and `winnow-index.json` names it last, so a reader never sees half a shard.
"""
