//! Super-segments, which a host leaves to its network card: whole where nothing on the way has a queue or loses
//! frames, cut into frames elsewhere.

use crate::networks::{line, network};
use flashcrowd_base::{Probability, Span, Time};
use flashcrowd_emulation::{Network, Offload};
use flashcrowd_link::{Conditions, Loss, LossModel, Side};
use flashcrowd_plan::Plan;

/// struct virtio_net_hdr of a super-segment of TCP over IPv4 in frames of 1448 bytes of payload.
fn offload() -> Offload {
    let mut bytes = [1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    for (to, word) in bytes[2..].chunks_exact_mut(2).zip([40u16, 1448, 20, 16]) {
        to.copy_from_slice(&word.to_ne_bytes());
    }
    Offload::read(&bytes)
}

/// A segment of TCP with so much payload.
fn segment(payload: usize) -> Vec<u8> {
    let mut packet = vec![0; 40 + payload];
    let length = packet.len() as u16;
    packet[0] = 0x45;
    packet[2..4].copy_from_slice(&length.to_be_bytes());
    (packet[8], packet[9]) = (64, 6);
    packet[32] = 5 << 4;
    packet
}

/// What arrives of a super-segment with ten frames and a rest: lengths of packets, and totals.
fn arrivals(line: Conditions, core: Conditions) -> (Vec<usize>, Network) {
    let mut plan: Plan = network(2, line, Conditions::default(), core);
    plan.stacks[0].tso_bytes = 1 << 16;
    plan.measures.payloads = true;
    plan.workloads.clear();
    plan.check().expect("the plan makes sense");
    let mut network = Network::new(&plan, 1);
    let (packet, mut arrived) = (segment(10 * 1448 + 7), Vec::new());
    network.buffer()[..packet.len()].copy_from_slice(&packet);
    network.send_offloaded(Time::START, 0, 1, packet.len(), offload());
    network.run(Time::START + Span::from_secs(3), &mut |delivery| {
        arrived.push(delivery.packet.len());
        assert_eq!(delivery.offload == offload(), delivery.packet == packet);
    });
    (arrived, network)
}

#[test]
fn it_stays_whole_where_there_is_nothing_but_delay() {
    let delay = Conditions { delay_ns: Span::from_millis(50), ..Conditions::default() };
    let (arrived, network) = arrivals(Conditions::default(), delay);
    assert_eq!(arrived, [40 + 10 * 1448 + 7]);
    let totals = network.totals();
    assert_eq!((totals.sent, totals.delivered, network.packets()), (11, 11, 0));
}

#[test]
fn it_is_cut_where_there_is_a_queue() {
    let (arrived, network) = arrivals(line(), Conditions::default());
    assert_eq!(arrived, [[1488; 10].as_slice(), &[47]].concat());
    let totals = network.totals();
    assert_eq!((totals.sent, totals.delivered, network.packets()), (11, 11, 0));
}

#[test]
fn frames_are_lost_one_by_one_wherever_that_is() {
    let probability = Probability::new(0.5).expect("it is one");
    for side in [Side::Sender, Side::Receiver] {
        let loss = Loss { side, model: LossModel::Bernoulli { probability } };
        let lossy = Conditions { loss: Some(loss), ..Conditions::default() };
        for (line, core) in [(Conditions::default(), lossy.clone()), (lossy, Conditions::default())]
        {
            let (arrived, network) = arrivals(line, core);
            let totals = network.totals();
            assert_eq!(arrived.len() as u64, totals.delivered);
            assert!(0 < totals.lost && totals.lost < 11, "{totals:?}");
            assert_eq!(totals.sent, totals.delivered + totals.lost);
        }
    }
}

#[test]
fn payloads_are_counted_as_the_host_sends_them() {
    let (_, network) = arrivals(line(), Conditions::default());
    assert_eq!(network.payloads().collect::<Vec<_>>(), [(0, 10 * 1448 + 7, 1)]);
}
