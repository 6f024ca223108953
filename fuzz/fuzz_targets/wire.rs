//! Any bytes in any cuts: the decoder ends in messages, in waiting or in an error, keeps no more than
//! one message, and what it gave out encodes to the bytes that it took.

#![no_main]

use flashcrowd_swarm::codec::{Decoded, Decoder, encode};
use libfuzzer_sys::fuzz_target;

const BLOCK: u32 = 64;

fuzz_target!(|input: (u8, u8, Vec<u8>)| {
    let (pieces, chunk, bytes) = input;
    let mut decoder = Decoder::new(u32::from(pieces), BLOCK);
    let mut taken = Vec::new();
    let mut given = 0;
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
                Err(error) => {
                    assert_eq!(decoder.next().err(), Some(error), "errors are final");
                    assert_eq!(decoder.buffered(), 0);
                    break 'stream;
                }
            }
        }
        assert!(decoder.buffered() <= 68.max(4 + 9 + BLOCK as usize));
        assert_eq!(taken.len() + decoder.buffered(), given);
    }
    assert_eq!(taken, bytes[..taken.len()]);
});
