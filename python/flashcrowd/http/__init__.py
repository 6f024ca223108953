"""A client's HTTP/1.1 (RFC 9110 and 9112): addresses, connections, heads, framing, ranges."""
