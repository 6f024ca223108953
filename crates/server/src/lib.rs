//! The content server over HTTP (Linux): the files of a directory to ordinary clients as any web server gives them, and
//! to clients that accept any order in the one that is cheapest for the disk. The order, what is read and what is kept
//! are those of [`flashcrowd_origin`]; what goes over the wire is written down in `docs/protocol.md`.
//!
//! | file | |
//! | --- | --- |
//! | [`server`](Server), `hall` | listeners, the end; what connections share |
//! | `connection`, `stream`, [`tls`](TlsFiles) | TLS, HTTP/1.1 and HTTP/2: who speaks what, and for how long |
//! | `service`, `host`, [`trusted`](Network) | a request, who asks, its answer |
//! | `listing`, `media`, `tags` | a directory as a page; a file's media type and entity tag |
//! | [`ranges`], [`preference`], [`conditional`](Validators), [`target`], [`multipart`](Framing) | fields and bodies of HTTP. Pure |
//! | `body`, `download`, `text` | contents and texts on their way |
//! | `desk` | the origin, its memory and who waits, behind a lock |
//! | [`disk`](ReadBy), `open_file` | reading, by io_uring or threads |
//! | `memory_file`, `buffer` | memory for contents |
//! | [`pace`](PaceReport) | a disk that is only thought of, for trials. Pure |
//! | `digests` | digests of files |
//! | `metered`, `admission` | what sockets take; who may connect |
//! | `exchange`, `outcome`, `access_log`, `meters` | what is reported of it |
//! | `live`, `map`, `amounts` | a page of what goes on: rates, and what of each file is in memory |
//!
//! # Memory
//!
//! Contents take at most the origin's `memory_bytes`, the readers' own memory included. Whole extents lie in a file in memory, out of
//! which sockets take them without a copy where HTTP hands on the bytes as they lie (not over TLS). Beside it,
//! a connection has what the HTTP library keeps (some kilobytes), one block that its socket has not taken (64 KiB, copied, so that no slow
//! socket holds memory of extents), and the kernel's send buffer (128 KiB for the default of 64 KiB), which may be pages that contents have
//! given up. Over HTTP/2 each stream has such a block; over TLS a connection has about 60 KiB more, of which a record (16 KiB) may be
//! bytes that the socket has not taken.
//!
//! # Signals
//!
//! `sendfile` on a socket whose client has gone raises `SIGPIPE` where that is not ignored, as Rust's programs and Python do.

#![allow(clippy::single_range_in_vec_init, reason = "one range of bytes is a list of ranges here")]

mod access_log;
mod admission;
mod amounts;
mod body;
mod buffer;
mod clock;
mod conditional;
mod connection;
mod desk;
mod digests;
mod disk;
mod download;
mod exchange;
mod hall;
mod handle;
mod host;
mod listing;
mod live;
mod map;
mod media;
mod memory_file;
mod metered;
mod meters;
mod multipart;
mod open_file;
mod outcome;
mod pace;
pub mod preference;
pub mod ranges;
mod server;
mod service;
mod settings;
mod stream;
mod tags;
pub mod target;
mod text;
mod tls;
mod trusted;

pub use buffer::memory_for;
pub use conditional::{Precondition, Validators};
pub use disk::{Paced, ReadBy, Turn};
pub use handle::ServerHandle;
pub use meters::Snapshot;
pub use multipart::{Framing, content_range};
pub use pace::PaceReport;
pub use server::{Reading, Server, StartError, Watch};
pub use settings::{Limits, Reader, Settings, Symlinks, Tagging};
pub use tls::{TlsError, TlsFiles};
pub use trusted::{Network, NoNetwork};
