"""The ground: small helpers that rooms of every floor use, and that use none of them."""
