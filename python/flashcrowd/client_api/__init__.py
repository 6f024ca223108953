"""The interfaces by which BitTorrent clients are read and limited, one file each."""
