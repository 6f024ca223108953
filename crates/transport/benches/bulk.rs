//! What a TCP segment costs.

mod pipe;

use criterion::{Criterion, criterion_group, criterion_main};
use flashcrowd_base::Time;
use flashcrowd_transport::tcp::{Config, Connection, Segment, profiles};
use std::sync::Arc;

impl pipe::End for Connection {
    type Config = Arc<Config>;
    type Packet = Segment;

    fn pair(config: Arc<Config>) -> [Connection; 2] {
        let mut client = Connection::connect(&config, Time::START);
        let syn = client.poll_transmit(Time::START).expect("a SYN");
        let server = Connection::accept(&config, Time::START, &syn);
        [client, server]
    }

    pipe::answers_as_an_end!();
}

fn bulk(criterion: &mut Criterion) {
    let configs = [profiles::linux_2_6(), profiles::linux_6(), profiles::windows_xp()];
    let named = configs.map(|config| (config.name.to_string(), Arc::new(config)));
    pipe::bulk::<Connection>(criterion, "bulk", named);
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = bulk
}
criterion_main!(benches);
