use crate::network::Network;
use flashcrowd_base::{Span, Time};
use flashcrowd_plan::Plan;

/// An echo request that a host sends.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    /// When.
    pub at: Time,
    /// The asking host.
    pub from: u32,
    /// The answering host.
    pub to: u32,
    /// Size of the IP packet, each way.
    pub bytes: u32,
}

/// Where a packet says which request it belongs to, and whether it is the answer: behind its IP header, in which queues look for flows and
/// write marks.
const NUMBER: usize = 20;
const ANSWER: usize = NUMBER + 8;
/// What that takes.
const MIN_BYTES: u32 = ANSWER as u32 + 1;

/// How long the answers to echo requests take over a plan's network with nothing else on it, if every host
/// answers at once: what probes have to find. `None` for what the model loses.
///
/// Requests are in the order of time.
pub fn echo_times(plan: &Plan, seed: u64, requests: &[Request]) -> Vec<Option<Span>> {
    let mut network = Network::new(plan, seed);
    let mut times = vec![None; requests.len()];
    let mut arrived: Vec<(Time, usize, bool)> = Vec::new();
    let mut waiting = (0usize..).zip(requests).peekable();
    loop {
        let next = waiting.peek().map_or(Time::NEVER, |(_, request)| request.at);
        let now = next.min(network.next_due());
        if now == Time::NEVER || (next == Time::NEVER && network.packets() == 0) {
            return times;
        }
        network.run(now, &mut |delivery| {
            let number = delivery.packet[NUMBER..ANSWER].try_into().unwrap_or([0; 8]);
            let answer = delivery.packet[ANSWER] == 1;
            arrived.push((delivery.due, u64::from_ne_bytes(number) as usize, answer));
        });
        for (at, number, answer) in arrived.drain(..) {
            let request = requests[number];
            match answer {
                true => times[number] = Some(at.since(request.at)),
                false => send(
                    &mut network,
                    at,
                    number,
                    Request { from: request.to, to: request.from, ..request },
                    1,
                ),
            }
        }
        while let Some((number, request)) = waiting.next_if(|(_, request)| request.at <= now) {
            send(&mut network, now, number, *request, 0);
        }
    }
}

fn send(network: &mut Network, now: Time, number: usize, request: Request, answer: u8) {
    let buffer = network.buffer();
    // Of no flow in particular, and not to be marked; an earlier packet may have been here.
    buffer[..NUMBER].fill(0);
    buffer[NUMBER..ANSWER].copy_from_slice(&(number as u64).to_ne_bytes());
    buffer[ANSWER] = answer;
    let bytes = (request.bytes.max(MIN_BYTES) as usize).min(buffer.len());
    network.send(now, request.from, request.to, bytes);
}
