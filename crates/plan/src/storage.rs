use crate::check::require;
use crate::{Error, Plan, Population, Swarm};
use flashcrowd_origin::disk::Medium;
use flashcrowd_origin::{InOrder, Refusal, Replacement, Scheduling, Settings};
use flashcrowd_swarm::Role;
use flashcrowd_swarm::profile::Sharing;
use serde::{Deserialize, Serialize};

/// What each seed of a population reads blocks from: a disk with the file at its beginning, and memory before it. A block
/// that is not in memory waits for the extent that it is in.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Storage {
    /// What the file lies on.
    pub disk: Medium,
    /// Memory for what is read, reads under way included; what was sent from longest ago goes first.
    pub memory_bytes: u64,
    /// What is read and kept at once: a power of two, 1 to 64 blocks.
    pub extent_bytes: u32,
    /// Reads under way at most; further ones wait.
    pub reads: u32,
}

impl Storage {
    /// The content server's machine that does the reading: it is asked for a block at a time.
    pub fn settings(&self, block_bytes: u32) -> Settings {
        let in_order = InOrder { read_ahead: false, replacement: Replacement::Lru };
        Settings {
            block_bytes,
            extent_bytes: self.extent_bytes,
            memory_bytes: self.memory_bytes,
            reads: self.reads,
            scheduling: Scheduling::InOrder(in_order),
            ..Settings::default()
        }
    }

    pub(crate) fn check(
        &self,
        swarm: &Swarm,
        population: &Population,
        plan: &Plan,
        path: &str,
    ) -> Result<(), Error> {
        let seed = population.role == Role::Seed;
        require(seed, path, "must be a population of seeds: leechers have all in memory")?;
        let profile = &plan.profiles[population.profile as usize];
        let buffers = profile.limiter.sharing == Sharing::Quota;
        let allowed = format_args!(
            "must be of clients that read into a send buffer (limiter.sharing quota), which {} has not",
            profile.name
        );
        require(buffers, path, allowed)?;
        let block = swarm.block_bytes;
        let whole = block.is_power_of_two() && swarm.piece_bytes.is_multiple_of(block);
        let allowed = "must be of a swarm whose blocks are a power of two, and pieces whole blocks";
        require(whole, path, allowed)?;
        let refused = |place: &'static str| {
            move |refusal: Refusal| {
                let message = format!("is {}; it may be {}", refusal.value, refusal.allowed);
                Error::new(format!("{path}{place}.{}", refusal.setting), message)
            }
        };
        self.settings(block).check().map_err(refused(""))?;
        self.disk.check().map_err(refused(".disk"))?;
        if let Medium::HardDisk(disk) = &self.disk {
            let fits = swarm.size_bytes <= disk.size_bytes;
            require(fits, format_args!("{path}.disk.size_bytes"), "must be at least the file's")?;
        }
        Ok(())
    }
}
