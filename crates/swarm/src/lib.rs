//! BitTorrent as pure state machines.
