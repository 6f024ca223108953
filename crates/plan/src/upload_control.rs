use crate::Error;
use crate::check::{index, require};
use flashcrowd_base::Span;
use flashcrowd_swarm::UploadLimit;
use flashcrowd_upload::UploadControl;
use serde::{Deserialize, Serialize};

/// A controller of the upload limit of each peer of a population: a program beside the client, which asks
/// the client for its rates, sends probes over the same line, and writes the client's limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ControlledUpload {
    /// The controller.
    pub controller: UploadControl,
    /// Hosts that answer its probes, in the controller's order.
    pub reflectors: Vec<u32>,
    /// Size of each IP packet of a probe and of its answer.
    pub probe_bytes: u32,
    /// It begins a random time after the arrival of its client, up to this: the phase of its probes
    /// against the ticks of the client's limiter.
    pub start_spread_ns: Span,
    /// How late it acts at most: each of its timers is late by a random part of this.
    pub lateness_ns: Span,
    /// How often the client is asked for its rates.
    pub poll_ns: Span,
    /// The client's interface.
    pub interface: ClientInterface,
}

/// A client's interface for other programs: what it reports, and takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ClientInterface {
    /// How often it renews what it says; zero for at each question.
    pub refresh_ns: Span,
    /// It says rates: means over this window. None for one that counts bytes.
    pub window_ns: Option<Span>,
    /// Granularity in bytes per second: a limit is rounded down to a multiple of it, and is at least one.
    pub step_bytes: u32,
}

/// A client is asked, and looks at its own meters, no more often than this.
const MIN_PERIOD: Span = Span::from_millis(10);
/// No controller looks that far back.
const LONGEST_WINDOW: Span = Span::from_secs(600);

impl ControlledUpload {
    /// Refuses what cannot control clients on these hosts, of `hosts`, that begin with this limit.
    pub(crate) fn check(
        &self,
        clients: &[u32],
        upload_bps: UploadLimit,
        hosts: usize,
        path: &str,
    ) -> Result<(), Error> {
        let fault = |refusal| Error::new(format!("{path}.controller"), format_args!("{refusal}"));
        self.controller.check().map_err(fault)?;
        let place = format!("{path}.reflectors");
        require(!self.reflectors.is_empty(), &place, "must not be empty: something has to answer")?;
        for host in &self.reflectors {
            index(*host, hosts, &place)?;
            let elsewhere = !clients.contains(host);
            require(elsewhere, &place, format_args!("{host} is a host of the population"))?;
        }
        let datagram = (28..=65_535).contains(&self.probe_bytes);
        require(datagram, format_args!("{path}.probe_bytes"), "must be from 28 to 65535")?;
        let place = format!("{path}.poll_ns");
        require(self.poll_ns >= MIN_PERIOD, &place, "must be at least 10 ms")?;
        // An answer after the next question would be asked for twice.
        let prompt = self.lateness_ns < self.poll_ns;
        require(prompt, format_args!("{path}.lateness_ns"), "must be less than poll_ns")?;
        let ClientInterface { refresh_ns, window_ns, step_bytes } = self.interface;
        let place = format!("{path}.interface.refresh_ns");
        let sane = refresh_ns.is_zero() || refresh_ns >= MIN_PERIOD;
        require(sane, &place, "must be zero or at least 10 ms")?;
        let place = format!("{path}.interface.window_ns");
        let sane = window_ns.is_none_or(|it| (MIN_PERIOD..=LONGEST_WINDOW).contains(&it));
        require(sane, &place, "must be from 10 ms to 600 s")?;
        require(
            step_bytes > 0,
            format_args!("{path}.interface.step_bytes"),
            "must be more than zero",
        )?;
        let uploads = upload_bps != UploadLimit::Nothing;
        require(uploads, path, "must not stand beside a limit of zero: such clients upload nothing")
    }
}
