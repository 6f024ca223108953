//! The codec against byte strings known from the protocol's description, any messages in any cuts,
//! and any garbage.

use flashcrowd_swarm::codec::{
    CodecError, Decoded, Decoder, Extension, Handshake, MAX_SKIPPED_BYTES, encode,
};
use flashcrowd_swarm::{Bitfield, Extensions, Message};
use proptest::prelude::*;
use std::sync::Arc;

const PIECES: u32 = 20;
const BLOCK: u32 = 64;

fn greeted() -> Decoder {
    let mut decoder = Decoder::new(PIECES, BLOCK);
    let mut bytes = Vec::new();
    Handshake::new([1; 20], [2; 20]).encode(&mut bytes);
    decoder.feed(&bytes);
    assert!(matches!(decoder.next(), Ok(Some(Decoded::Handshake(_)))));
    decoder
}
fn error(bytes: &[u8]) -> Option<CodecError> {
    let mut decoder = greeted();
    decoder.feed(bytes);
    decoder.next().err()
}

#[test]
fn a_handshake_is_sixty_eight_known_bytes() {
    let handshake =
        Handshake { reserved: [0; 8], info_hash: [0xAA; 20], peer_id: *b"M4-0-2--123456789012" };
    let mut bytes = Vec::new();
    handshake.encode(&mut bytes);
    let mut expected = b"\x13BitTorrent protocol\0\0\0\0\0\0\0\0".to_vec();
    expected.extend([0xAA; 20]);
    expected.extend(b"M4-0-2--123456789012");
    assert_eq!(bytes, expected);
    assert_eq!(bytes.len() as u32, Message::Handshake(Extensions::NONE).size());
    let mut decoder = Decoder::new(PIECES, BLOCK);
    for byte in &bytes[..67] {
        decoder.feed(&[*byte]);
        assert_eq!(decoder.next(), Ok(None));
    }
    decoder.feed(&bytes[67..]);
    assert_eq!(decoder.next(), Ok(Some(Decoded::Handshake(handshake))));
}

#[test]
fn messages_are_known_bytes() {
    let mut pieces = Bitfield::new(PIECES);
    assert!([0, 9, 19].into_iter().all(|piece| pieces.set(piece)));
    let known: [(Message, &[u8]); 8] = [
        (Message::KeepAlive, &[0, 0, 0, 0]),
        (Message::Choke, &[0, 0, 0, 1, 0]),
        (Message::NotInterested, &[0, 0, 0, 1, 3]),
        (Message::Have { piece: 18 }, &[0, 0, 0, 5, 4, 0, 0, 0, 18]),
        (Message::Bitfield(Arc::new(pieces)), &[0, 0, 0, 4, 5, 0x80, 0x40, 0x10]),
        (
            Message::Request { piece: 1, begin: 0x4000, length: 0x4000 },
            &[0, 0, 0, 13, 6, 0, 0, 0, 1, 0, 0, 0x40, 0, 0, 0, 0x40, 0],
        ),
        (
            Message::Cancel { piece: 1, begin: 2, length: 3 },
            &[0, 0, 0, 13, 8, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],
        ),
        (
            Message::Piece { piece: 1, begin: 2, length: 3 },
            &[0, 0, 0, 12, 7, 0, 0, 0, 1, 0, 0, 0, 2],
        ),
    ];
    for (message, bytes) in known {
        let mut out = Vec::new();
        encode(&message, &mut out);
        assert_eq!(out, bytes, "{message:?}");
    }
}

#[test]
fn what_is_not_the_protocol_is_refused_with_the_reason() {
    let mut decoder = Decoder::new(PIECES, BLOCK);
    decoder.feed(b"GET / HTTP/1.1");
    assert_eq!(decoder.next(), Err(CodecError::NotBitTorrent));
    decoder.feed(b"more");
    assert_eq!(decoder.next(), Err(CodecError::NotBitTorrent));
    assert_eq!(decoder.buffered(), 0);
    let limit = BLOCK + 9;
    assert_eq!(error(&[0, 0, 1, 0, 7]), Some(CodecError::TooLong { length: 256, limit }));
    let (length, limit) = (MAX_SKIPPED_BYTES + 1, MAX_SKIPPED_BYTES);
    assert_eq!(error(&length.to_be_bytes()), Some(CodecError::TooLong { length, limit }));
    assert_eq!(error(&[0, 0, 0, 2, 1]), Some(CodecError::BadLength { kind: 1, length: 2 }));
    assert_eq!(error(&[0, 0, 0, 9, 7]), Some(CodecError::BadLength { kind: 7, length: 9 }));
    assert_eq!(error(&[0, 0, 0, 3, 5, 0]), Some(CodecError::BadLength { kind: 5, length: 3 }));
    let pieces = PIECES;
    let have = [0, 0, 0, 5, 4, 0, 0, 0, 20];
    assert_eq!(error(&have), Some(CodecError::NoSuchPiece { piece: 20, pieces }));
    assert_eq!(error(&[0, 0, 0, 4, 5, 0, 0, 0x08]), Some(CodecError::SpareBits));
}

#[test]
fn messages_of_extensions_are_skipped_whole_and_the_stream_goes_on() {
    // BEP 10's handshake, BEP 6's HAVE ALL and a reject, BEP 5's port, then an UNCHOKE.
    let mut decoder = greeted();
    let mut bytes = vec![0, 0, 0, 8, 20, 0];
    bytes.extend(b"d1:mde");
    bytes.extend([0, 0, 0, 1, 14, 0, 0, 0, 13, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0x40, 0]);
    bytes.extend([0, 0, 0, 3, 9, 0x1A, 0xE1, 0, 0, 0, 1, 1]);
    decoder.feed(&bytes);
    let skipped = |kind, length| Ok(Some(Decoded::Skipped { kind, length }));
    assert_eq!(decoder.next(), skipped(20, 8));
    assert_eq!(decoder.next(), skipped(14, 1));
    assert_eq!(decoder.next(), skipped(16, 13));
    assert_eq!(decoder.next(), skipped(9, 3));
    assert_eq!(decoder.next(), Ok(Some(Decoded::Message(Message::Unchoke, &[]))));
    assert_eq!(decoder.next(), Ok(None));
    assert_eq!(decoder.buffered(), 0);
}

#[test]
fn messages_of_the_fast_extension_are_known_bytes_once_it_is_agreed_on() {
    // BEP 6: the types are 0x0D to 0x11.
    let known: [(Message, &[u8]); 5] = [
        (Message::Suggest { piece: 7 }, &[0, 0, 0, 5, 13, 0, 0, 0, 7]),
        (Message::HaveAll, &[0, 0, 0, 1, 14]),
        (Message::HaveNone, &[0, 0, 0, 1, 15]),
        (
            Message::Reject { piece: 1, begin: 2, length: 3 },
            &[0, 0, 0, 13, 16, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3],
        ),
        (Message::AllowedFast { piece: 18 }, &[0, 0, 0, 5, 17, 0, 0, 0, 18]),
    ];
    for (message, bytes) in known {
        let mut out = Vec::new();
        encode(&message, &mut out);
        assert_eq!(out, bytes, "{message:?}");
        let mut decoder = greeted();
        decoder.allow_fast();
        decoder.feed(bytes);
        assert_eq!(decoder.next(), Ok(Some(Decoded::Message(message, &[]))));
    }
    let mut decoder = greeted();
    decoder.allow_fast();
    decoder.feed(&[0, 0, 0, 2, 14, 0]);
    assert_eq!(decoder.next(), Err(CodecError::BadLength { kind: 14, length: 2 }));
    let handshake = Handshake::new([1; 20], [2; 20]).offering(Extensions::FAST);
    assert!(
        handshake.offers(Extension::Fast)
            && handshake.message() == Message::Handshake(Extensions::FAST)
    );
    assert_eq!(Handshake::new([1; 20], [2; 20]).message(), Message::Handshake(Extensions::NONE));
}

#[test]
fn the_largest_unknown_message_passes_without_being_kept() {
    let mut decoder = greeted();
    decoder.feed(&MAX_SKIPPED_BYTES.to_be_bytes());
    assert_eq!(decoder.next(), Ok(None));
    for chunk in vec![99; MAX_SKIPPED_BYTES as usize - 1].chunks(1000) {
        decoder.feed(chunk);
        assert_eq!(decoder.next(), Ok(None));
        assert_eq!(decoder.buffered(), 0);
    }
    decoder.feed(&[99, 0, 0, 0, 0]);
    assert_eq!(decoder.next(), Ok(Some(Decoded::Skipped { kind: 99, length: MAX_SKIPPED_BYTES })));
    assert_eq!(decoder.next(), Ok(Some(Decoded::Message(Message::KeepAlive, &[]))));
}

#[test]
fn a_handshake_offers_what_its_bits_say() {
    use Extension::{Dht, Fast, Protocol};
    let offered = |reserved| {
        let handshake = Handshake { reserved, ..Handshake::new([0; 20], [0; 20]) };
        [Protocol, Fast, Dht].map(|extension| handshake.offers(extension))
    };
    assert_eq!(offered([0; 8]), [false; 3]);
    assert_eq!(offered([0, 0, 0, 0, 0, 0x10, 0, 0]), [true, false, false]);
    assert_eq!(offered([0, 0, 0, 0, 0, 0, 0, 0x04]), [false, true, false]);
    assert_eq!(offered([0, 0, 0, 0, 0, 0, 0, 0x01]), [false, false, true]);
    assert_eq!(offered([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xEF, 0xFF, 0xFA]), [false; 3]);
}

/// The types that BEP 6 adds to those of BEP 3.
const FAST: std::ops::RangeInclusive<u8> = 13..=17;

/// A message of a type that BEP 3 does not have, nor BEP 6 if `fast`.
fn unknown(fast: bool) -> impl Strategy<Value = (u8, Vec<u8>)> {
    let kind = (9u8..).prop_filter("a known type", move |kind| !fast || !FAST.contains(kind));
    (kind, prop::collection::vec(any::<u8>(), 0..200))
}

/// A message of BEP 6.
fn fast_message() -> impl Strategy<Value = (Message, Vec<u8>)> {
    let numbers = (0..PIECES, any::<u32>(), any::<u32>());
    let message = prop_oneof![
        Just(Message::HaveAll),
        Just(Message::HaveNone),
        (0..PIECES).prop_map(|piece| Message::Suggest { piece }),
        (0..PIECES).prop_map(|piece| Message::AllowedFast { piece }),
        numbers.prop_map(|(piece, begin, length)| Message::Reject { piece, begin, length }),
    ];
    message.prop_map(|message| (message, Vec::new()))
}

/// Messages, and before some of them one of an unknown type; and whether those of BEP 6 are among the
/// known ones.
#[expect(clippy::type_complexity)]
fn conversation() -> impl Strategy<Value = (bool, Vec<((Message, Vec<u8>), Option<(u8, Vec<u8>)>)>)>
{
    any::<bool>().prop_flat_map(|fast| {
        let known =
            if fast { prop_oneof![message(), fast_message()].boxed() } else { message().boxed() };
        let pair = (known, prop::option::weighted(0.3, unknown(fast)));
        (Just(fast), prop::collection::vec(pair, 0..30))
    })
}

fn message() -> impl Strategy<Value = (Message, Vec<u8>)> {
    let numbers = (0..PIECES, any::<u32>(), any::<u32>());
    let bits = prop::collection::vec(any::<bool>(), PIECES as usize);
    let bare = prop_oneof![
        Just(Message::KeepAlive),
        Just(Message::Choke),
        Just(Message::Unchoke),
        Just(Message::Interested),
        Just(Message::NotInterested),
        (0..PIECES).prop_map(|piece| Message::Have { piece }),
        numbers.clone().prop_map(|(piece, begin, length)| Message::Request {
            piece,
            begin,
            length
        }),
        numbers.prop_map(|(piece, begin, length)| Message::Cancel { piece, begin, length }),
        bits.prop_map(|bits| {
            let mut pieces = Bitfield::new(PIECES);
            (0..).zip(bits).filter(|(_, has)| *has).for_each(|(piece, _)| {
                pieces.set(piece);
            });
            Message::Bitfield(Arc::new(pieces))
        }),
    ];
    let block = prop::collection::vec(any::<u8>(), 1..=BLOCK as usize);
    let piece = (0..PIECES, any::<u32>(), block).prop_map(|(piece, begin, block)| {
        (Message::Piece { piece, begin, length: block.len() as u32 }, block)
    });
    prop_oneof![3 => bare.prop_map(|message| (message, Vec::new())), 1 => piece]
}

proptest! {
    #[test]
    fn any_messages_in_any_cuts_come_out_as_they_went_in(
        (fast, messages) in conversation(),
        cuts in prop::collection::vec(1usize..40, 1..20),
    ) {
        let mut bytes = Vec::new();
        for ((message, block), unknown) in &messages {
            if let Some((kind, body)) = unknown {
                bytes.extend((body.len() as u32 + 1).to_be_bytes());
                bytes.push(*kind);
                bytes.extend(body);
            }
            let before = bytes.len();
            encode(message, &mut bytes);
            bytes.extend_from_slice(block);
            prop_assert_eq!((bytes.len() - before) as u32, message.size());
        }
        let mut decoder = greeted();
        if fast {
            decoder.allow_fast();
        }
        let (mut out, mut skipped) = (Vec::new(), None);
        let mut rest = &bytes[..];
        for cut in cuts.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (now, later) = rest.split_at((*cut).min(rest.len()));
            decoder.feed(now);
            rest = later;
            while let Some(decoded) = decoder.next().unwrap() {
                match decoded {
                    Decoded::Message(message, block) => out.push(((message, block.to_vec()), skipped.take())),
                    Decoded::Skipped { kind, length } => skipped = Some((kind, length)),
                    Decoded::Handshake(_) => panic!("a second handshake"),
                }
            }
        }
        let told = |(kind, body): (u8, Vec<u8>)| (kind, body.len() as u32 + 1);
        let expected: Vec<_> =
            messages.into_iter().map(|(known, unknown)| (known, unknown.map(told))).collect();
        prop_assert_eq!(out, expected);
        prop_assert_eq!(decoder.buffered(), 0);
    }

    #[test]
    fn garbage_ends_in_an_error_or_in_waiting_with_little_kept(
        bytes in prop::collection::vec(prop_oneof![Just(0u8), 0u8..20, any::<u8>()], 0..400),
        chunk in 1usize..50,
        fast: bool,
    ) {
        let mut decoder = greeted();
        if fast {
            decoder.allow_fast();
        }
        for chunk in bytes.chunks(chunk) {
            decoder.feed(chunk);
            while let Ok(Some(_)) = decoder.next() {}
            prop_assert!(decoder.buffered() <= 4 + 9 + BLOCK as usize);
        }
    }
}
