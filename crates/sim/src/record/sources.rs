use crate::apps::{AnyApp, App, Sample, World};
use flashcrowd_plan::{Sampled, Source};

/// The present value of a series for every source that has one: links are the world's, all else belongs to some
/// application.
pub(crate) fn values(world: &mut World, apps: &[AnyApp<'_>], what: Sampled) -> Vec<(u32, Sample)> {
    match what.source() {
        Source::Links => links(world, what),
        _ => apps.iter().flat_map(|app| app.sample(world, what)).collect(),
    }
}

/// The same for links with a rate.
fn links(world: &mut World, what: Sampled) -> Vec<(u32, Sample)> {
    let now = world.now;
    let indexed = (0u32..).zip(world.network.links());
    let rated: Vec<u32> =
        indexed.filter(|(_, link)| link.is_rated()).map(|(index, _)| index).collect();
    let mut value = |link: u32| match what {
        Sampled::QueuePackets => Sample::Level(f64::from(world.network.queued_packets(link, now))),
        Sampled::QueueDelay => {
            Sample::Level(world.network.link(link).queueing_delay(now).seconds())
        }
        _ => Sample::Bits(world.network.link(link).sent(now).bits),
    };
    rated.into_iter().map(|link| (link, value(link))).collect()
}

/// The name of the link, flow or swarm that a series is about.
pub(crate) fn source_name(
    world: &World,
    apps: &[AnyApp<'_>],
    what: Sampled,
    source: u32,
) -> String {
    match what.source() {
        Source::Links => world.network.link(source).name().to_owned(),
        _ => apps.iter().find_map(|app| app.source_name(what, source)).unwrap_or_default(),
    }
}
