use crate::tls::TlsFiles;
use crate::trusted::Network;
use flashcrowd_base::Refusal;
use flashcrowd_origin::Settings as OriginSettings;
use flashcrowd_origin::disk::Medium;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The settings of a server.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// The directory that is served. Nothing outside of it is.
    pub root: PathBuf,
    /// Where HTTP is spoken.
    pub listen: SocketAddr,
    /// The files of TLS; without, it is not spoken.
    #[serde(default)]
    pub tls: Option<TlsFiles>,
    /// Where the metrics are, if anywhere.
    #[serde(default)]
    pub metrics: Option<SocketAddr>,
    /// The scheduler: policy, memory, sizes, reads under way. Its memory is for file contents, what reading needs
    /// included; `patience_ns` is not used: sockets have [`Limits::stall_s`].
    #[serde(default)]
    pub origin: OriginSettings,
    /// Past the page cache (`O_DIRECT`), where the file system allows it.
    #[serde(default = "yes")]
    pub direct: bool,
    /// By what extents are read.
    #[serde(default)]
    pub reader: Reader,
    /// For trials: reads take as long as they would on this disk, which is only thought of, if the real one is faster.
    #[serde(default)]
    pub trial_disk: Option<Medium>,
    /// The treatment of symbolic links.
    #[serde(default)]
    pub symlinks: Symlinks,
    /// Whether a directory is answered with a list of what is in it.
    #[serde(default)]
    pub listing: bool,
    /// Whether files and directories are served whose names begin with a dot; `/.well-known/` is in any case.
    #[serde(default)]
    pub hidden: bool,
    /// Whether digests are offered.
    #[serde(default = "yes")]
    pub digests: bool,
    /// Of what entity tags are made.
    #[serde(default)]
    pub etag: Tagging,
    /// Proxies whose `X-Forwarded-For` names the client.
    #[serde(default)]
    pub trust_proxy: Vec<Network>,
    /// Where a line for each answer goes, if anywhere; `-` is standard output.
    #[serde(default)]
    pub access_log: Option<PathBuf>,
    /// Bounds on what clients may do.
    #[serde(default)]
    pub limits: Limits,
}

fn yes() -> bool {
    true
}

/// By what extents are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// `io_uring` where the kernel allows it, else threads.
    #[default]
    Auto,
    /// One thread that has the kernel read (`io_uring`).
    IoUring,
    /// A thread for each read at once, with `pread`.
    Threads,
}

/// Of what the entity tag of a file is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tagging {
    /// Of all that tells one version from another, the inode and the time of change among them: they change with each write.
    #[default]
    Version,
    /// Of date and length, on which two copies of a tree agree; and of the time of change, too, where the server has seen another
    /// state of the file under both.
    MtimeSize,
}

/// The treatment of symbolic links in the directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Symlinks {
    /// Followed as long as they stay inside the directory (`RESOLVE_BENEATH`).
    #[default]
    Within,
    /// Not followed.
    Refuse,
    /// Followed wherever they lead.
    Follow,
}

/// Bounds on what clients may do.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Connections at once of one address.
    pub connections_per_address: usize,
    /// Requests on one connection, which is closed after them.
    pub requests_per_connection: u64,
    /// Requests at once on a connection of HTTP/2. Each but the first one counts as a connection.
    pub streams: u32,
    /// Ranges in a request; with more, `Range` is ignored.
    pub ranges: usize,
    /// Seconds for the head of a request to come, from the connection's first byte or the last answer's end: silent
    /// connections and slow heads end then. The first byte, and the handshake of TLS, may take this long too.
    pub header_s: f64,
    /// Seconds in which the socket takes not a byte of an answer, or of one of several over HTTP/2: the connection ends.
    pub stall_s: f64,
    /// Seconds that answers under way have when the server is stopped.
    pub drain_s: f64,
    /// Bytes of a connection's send buffer in the kernel, which doubles it for its own needs; none for what the kernel makes of it
    /// (`tcp_wmem`): it grows with the window then, as far-away clients need it.
    pub send_buffer_bytes: Option<u32>,
    /// Bytes that may be unsent in a connection's socket before it has room again (`TCP_NOTSENT_LOWAT`): these were
    /// chosen too early.
    pub unsent_bytes: u32,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 10_000,
            connections_per_address: 1_000,
            requests_per_connection: 100_000,
            streams: 32,
            ranges: 1_000,
            header_s: 15.0,
            stall_s: 60.0,
            drain_s: 30.0,
            send_buffer_bytes: Some(1 << 16),
            unsent_bytes: 1 << 16,
        }
    }
}

impl Limits {
    fn check(&self) -> Result<(), Refusal> {
        let refuse = |setting, value: f64, allowed| Err(Refusal::new(setting, value, allowed));
        for (setting, value) in
            [("header_s", self.header_s), ("stall_s", self.stall_s), ("drain_s", self.drain_s)]
        {
            // Also refuses what is no number.
            if !(0.001..=1e9).contains(&value) {
                return refuse(setting, value, "from 0.001 to 1e9 seconds");
            }
        }
        let at_least_one = [
            ("connections", self.connections),
            ("connections_per_address", self.connections_per_address),
            ("streams", self.streams as usize),
            ("ranges", self.ranges),
        ];
        for (setting, value) in at_least_one {
            if value == 0 {
                return refuse(setting, 0.0, "1 or more");
            }
        }
        if self.requests_per_connection == 0 {
            return refuse("requests_per_connection", 0.0, "1 or more");
        }
        if let Some(bytes) = self.send_buffer_bytes
            && !(4096..=1 << 26).contains(&bytes)
        {
            return refuse("send_buffer_bytes", f64::from(bytes), "from 4096 to 67108864");
        }
        if !(1..=1 << 30).contains(&self.unsent_bytes) {
            return refuse("unsent_bytes", f64::from(self.unsent_bytes), "from 1 to 1073741824");
        }
        Ok(())
    }
}

/// Seconds that were checked.
pub(crate) fn seconds(value: f64) -> Duration {
    Duration::try_from_secs_f64(value).unwrap_or(Duration::MAX)
}

impl Settings {
    /// Whether everything set is within its bounds; the memory, of which reading needs a part, when the server begins.
    pub fn check(&self) -> Result<(), Refusal> {
        self.limits.check()?;
        if let Some(disk) = &self.trial_disk {
            disk.check()?;
        }
        OriginSettings { memory_bytes: u64::MAX, ..self.origin.clone() }.check()
    }
}
