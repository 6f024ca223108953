//! What a uTP packet costs.

mod pipe;

use criterion::{Criterion, criterion_group, criterion_main};
use flashcrowd_base::Time;
use flashcrowd_transport::utp::{Config, Connection, Packet, profiles, wire};
use std::hint::black_box;
use std::sync::Arc;

impl pipe::End for Connection {
    type Config = Arc<Config>;
    type Packet = Packet;

    fn pair(config: Arc<Config>) -> [Connection; 2] {
        let mut caller = Connection::connect(&config, Time::START, 1, 1);
        let syn = caller.poll_transmit(Time::START).expect("a SYN");
        let answerer = Connection::accept(&config, Time::START, &syn, 1);
        [caller, answerer]
    }

    pipe::answers_as_an_end!();
}

fn bulk(criterion: &mut Criterion) {
    let configs = [profiles::libutp(), profiles::libtorrent(), profiles::rfc6817()];
    let named = configs.map(|config| (config.name.to_string(), Arc::new(config)));
    pipe::bulk::<Connection>(criterion, "utp", named);
}

/// A header written and read again.
fn codec(criterion: &mut Criterion) {
    let mut caller = Connection::connect(&Arc::new(profiles::libutp()), Time::START, 1, 1);
    let packet = caller.poll_transmit(Time::START).expect("a SYN");
    let mut datagram = Vec::new();
    criterion.bench_function("utp/codec", |bencher| {
        bencher.iter(|| {
            datagram.clear();
            wire::encode(black_box(&packet), &mut datagram);
            wire::decode(black_box(&datagram)).map(|(packet, _)| packet.seq_nr)
        });
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = bulk, codec
}
criterion_main!(benches);
