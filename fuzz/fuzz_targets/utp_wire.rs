//! Any datagram: it is refused with a reason, or what was understood of it encodes to something that
//! is understood in the same way.

#![no_main]

use flashcrowd_transport::utp::wire::{MAX_HEADER_BYTES, decode, encode};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|datagram: &[u8]| {
    let Ok((packet, payload)) = decode(datagram) else { return };
    assert_eq!(usize::from(packet.len), payload.len());
    assert!(payload.len() <= datagram.len() - 20);
    let mut again = Vec::new();
    encode(&packet, &mut again);
    assert_eq!(again.len() as u32, packet.header_bytes());
    assert!(again.len() <= MAX_HEADER_BYTES);
    again.extend_from_slice(payload);
    assert_eq!(decode(&again), Ok((packet, payload)));
    assert_eq!(again.len() as u32, packet.datagram_bytes());
});
