//! Any bytes in any cuts: the decoder ends in messages, in waiting or in an error, keeps no more than
//! one message, skips types that it does not know as they say how long they are, and what it gave out
//! encodes to the bytes that it took.

#![no_main]

use flashcrowd_swarm::codec::{Decoded, Decoder, MAX_SKIPPED_BYTES, encode};
use libfuzzer_sys::fuzz_target;

const BLOCK: u32 = 64;

fuzz_target!(|input: (u8, u8, Vec<u8>)| {
    let (pieces, chunk, bytes) = input;
    let mut decoder = Decoder::new(u32::from(pieces), BLOCK);
    let mut taken = Vec::new();
    let mut given = 0;
    let mut skipped = 0;
    let mut any_skipped = false;
    'stream: for chunk in bytes.chunks(usize::from(chunk).max(1)) {
        decoder.feed(chunk);
        given += chunk.len();
        loop {
            match decoder.next() {
                Ok(None) => break,
                Ok(Some(Decoded::Handshake(handshake))) => handshake.encode(&mut taken),
                Ok(Some(Decoded::Message(message, block))) => {
                    let before = taken.len();
                    encode(&message, &mut taken);
                    taken.extend_from_slice(block);
                    assert_eq!((taken.len() - before) as u32, message.size());
                }
                Ok(Some(Decoded::Skipped { kind, length })) => {
                    assert!(kind > 8 && length > 0 && length <= MAX_SKIPPED_BYTES);
                    skipped += 4 + length as usize;
                    any_skipped = true;
                }
                Err(error) => {
                    assert_eq!(decoder.next().err(), Some(error), "errors are final");
                    assert_eq!(decoder.buffered(), 0);
                    break 'stream;
                }
            }
        }
        assert!(decoder.buffered() <= 68.max(4 + 9 + BLOCK as usize));
        // Of a message that is being skipped nothing is kept, and nothing told yet.
        let accounted = taken.len() + skipped + decoder.buffered();
        any_skipped |= accounted < given;
        assert!(accounted == given || accounted < given && decoder.buffered() == 0);
    }
    if !any_skipped {
        assert_eq!(taken, bytes[..taken.len()]);
    }
});
