use crate::apps::{AnyApp, App, Sample, World};
use flashcrowd_plan::{Sampled, Source};

/// The present value of a series for every source that has one: links are the world's, all else belongs to some
/// application.
pub(crate) fn values(world: &mut World, apps: &[AnyApp<'_>], what: Sampled) -> Vec<(u32, Sample)> {
    match what.source() {
        Source::Links => world.network.sample(world.now, what),
        _ => apps.iter().flat_map(|app| app.sample(world, what)).collect(),
    }
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
