use crate::check::require;
use crate::{Capture, Error, LoggedConnections, Plan};
use flashcrowd_base::{Span, Time};
use serde::{Deserialize, Serialize};

/// The records besides the summary tables.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Measures {
    /// Sampled time series.
    pub series: Vec<Series>,
    /// Interval at which the pieces that leechers have are counted.
    pub pieces_ns: Option<Span>,
    /// Interval at which the queue of every link with a rate is looked at, for the distribution of
    /// its length.
    pub queues_ns: Option<Span>,
    /// Distribution of the time between sends to one connection.
    pub send_gaps: bool,
    /// Distribution of TCP payload lengths.
    pub payloads: bool,
    /// TCP's round-trip time estimate, sampled at each send of a peer.
    pub rtts: bool,
    /// Every unchoke that ended.
    pub unchokes: bool,
    /// Every packet that the sending ends of transfers send before this instant.
    pub packets_ns: Option<Span>,
    /// When each leecher completed each piece.
    pub have: bool,
    /// The time that some tables cover; the whole run for those that are not named.
    #[serde(default)]
    pub windows: Vec<Window>,
    /// Hosts whose packets are captured whole, with their headers.
    #[serde(default)]
    pub capture: Option<Capture>,
    /// Logs of connections, event by event.
    #[serde(default)]
    pub connections: Option<LoggedConnections>,
}

/// The part of a run that a table is about.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Which table.
    pub table: Windowed,
    /// The first instant that counts.
    pub from_ns: Span,
    /// The first one that counts no more; none for the end of the run.
    pub to_ns: Option<Span>,
}

/// A table that may have a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Windowed {
    /// Links: packets carried, dropped and kept waiting.
    Links,
    /// Flows of transfers: bytes delivered, retransmits and measurements.
    Transfers,
    /// Echo requests sent inside.
    Pings,
    /// Pages asked for inside.
    Pages,
    /// Packets of calls sent inside.
    Calls,
    /// Servers, and downloads from them that began inside.
    Origins,
}

impl Window {
    /// The first instant that counts.
    pub fn begin(&self) -> Time {
        Time::START + self.from_ns
    }
    /// The first one that counts no more, or [`Time::NEVER`].
    pub fn end(&self) -> Time {
        self.to_ns.map_or(Time::NEVER, |to| Time::START + to)
    }
    /// Whether an instant counts.
    pub fn holds(&self, at: Time) -> bool {
        (self.begin()..self.end()).contains(&at)
    }
}

/// One kind of time series.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// The sampled quantity, of every link, transfer or swarm that has it.
    pub what: Sampled,
    /// How often.
    pub every_ns: Span,
}

/// The things that have a series: one of a kind each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// Links with a rate.
    Links,
    /// Flows of transfers.
    Flows,
    /// Swarms.
    Swarms,
    /// Hosts with clients that have an upload limit.
    Clients,
    /// Content servers.
    Origins,
}

macro_rules! sampled {
    ($($(#[doc = $about:literal])* $What:ident, $name:literal, $Source:ident;)+) => {
        /// Quantities that can be sampled.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub enum Sampled {$(
            $(#[doc = $about])*
            #[serde(rename = $name)]
            $What,
        )+}

        impl Sampled {
            /// All of them.
            pub const ALL: &[Sampled] = &[$(Sampled::$What),+];

            /// Its name in plans and tables.
            pub fn name(self) -> &'static str {
                match self {
                    $(Sampled::$What => $name,)+
                }
            }

            /// What has it.
            pub fn source(self) -> Source {
                match self {
                    $(Sampled::$What => Source::$Source,)+
                }
            }
        }
    };
}

sampled! {
    /// Packets waiting at each link with a rate, the one in transmission included.
    QueuePackets, "queue-packets", Links;
    /// How long the newest packet at each link with a rate still has to wait, in seconds.
    QueueDelay, "queue-delay", Links;
    /// Bits per second that each link with a rate carried since the last sample, framing included.
    LinkRate, "link-rate", Links;
    /// Payload bits per second delivered by each flow of each transfer since the last sample.
    Goodput, "goodput", Flows;
    /// Congestion window of each flow of each transfer, in bytes.
    Window, "window", Flows;
    /// Smoothed round-trip time of each flow of each transfer, in seconds.
    Rtt, "rtt", Flows;
    /// The latest one-way delay above the least that each flow of each transfer has measured, in seconds.
    OwnDelay, "own-delay", Flows;
    /// Payload bits per second downloaded by all peers of each swarm since the last sample.
    SwarmRate, "swarm-rate", Swarms;
    /// Peers of each swarm that are online.
    Online, "online", Swarms;
    /// Leechers of each swarm that have completed.
    Completed, "completed", Swarms;
    /// Upload limit of the client on each host that has one, in bits per second.
    UploadLimit, "upload-limit", Clients;
    /// Bits of blocks per second that each origin handed to sockets since the last sample.
    OriginRate, "origin-rate", Origins;
    /// Bits per second that the disk of each origin was asked for since the last sample.
    DiskRate, "disk-rate", Origins;
    /// Reads of each origin that wait for the disk or are under way.
    DiskQueue, "disk-queue", Origins;
    /// Clients of each origin that wait for the disk.
    DiskWaiting, "disk-waiting", Origins;
    /// Clients of each origin that are being served.
    OriginClients, "origin-clients", Origins;
}

impl Measures {
    /// The window of a table, if it has one.
    pub fn window(&self, table: Windowed) -> Option<&Window> {
        self.windows.iter().find(|window| window.table == table)
    }

    pub(crate) fn check(&self, plan: &Plan) -> Result<(), Error> {
        self.capture.as_ref().map_or(Ok(()), |capture| capture.check(plan, "measures.capture"))?;
        for (i, series) in self.series.iter().enumerate() {
            let path = format!("measures.series[{i}].every_ns");
            require(!series.every_ns.is_zero(), &path, "must be more than zero")?;
        }
        for (i, window) in self.windows.iter().enumerate() {
            let order = window.to_ns.is_none_or(|to| to > window.from_ns);
            require(order, format_args!("measures.windows[{i}].to_ns"), "must be after from_ns")?;
            let once = self.windows[..i].iter().all(|other| other.table != window.table);
            require(once, format_args!("measures.windows[{i}].table"), "has a window already")?;
        }
        if let Some(connections) = &self.connections {
            connections.check(plan)?;
        }
        let pieces = self.pieces_ns.is_none_or(|every| !every.is_zero());
        require(pieces, "measures.pieces_ns", "must be more than zero")?;
        let queues = self.queues_ns.is_none_or(|every| !every.is_zero());
        require(queues, "measures.queues_ns", "must be more than zero")
    }
}
