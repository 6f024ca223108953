//! uTP on UDP sockets: the state machine that the simulator runs, in wall-clock time, for programs
//! on tokio.
//!
//! A [`Socket`] is one UDP socket; uTP connections share it, in both directions. A [`Stream`] is one
//! connection, to be read and written like a TCP stream. How it behaves is its
//! [`Config`](flashcrowd_transport::utp::Config), one of the
//! [`profiles`](flashcrowd_transport::utp::profiles) or a variation of one: it need not be the same
//! at both ends.
//!
//! ```
//! use flashcrowd_live::Socket;
//! use flashcrowd_transport::utp::profiles;
//! use std::sync::Arc;
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> std::io::Result<()> {
//! let config = Arc::new(profiles::libutp());
//! let server = Socket::bind("127.0.0.1:0".parse().unwrap(), &config)?;
//! let client = Socket::bind("127.0.0.1:0".parse().unwrap(), &config)?;
//!
//! let (opened, accepted) = tokio::join!(client.connect(server.local_addr()), server.accept());
//! let (mut opened, mut accepted) = (opened?, accepted?);
//!
//! opened.write_all(b"hello").await?;
//! opened.shutdown().await?; // nothing follows; the other direction goes on
//!
//! let mut heard = String::new();
//! accepted.read_to_string(&mut heard).await?;
//! assert_eq!(heard, "hello");
//! accepted.shutdown().await?;
//!
//! drop((opened, accepted));
//! tokio::try_join!(client.close(), server.close())?;
//! # Ok(())
//! # }
//! ```
//!
//! # How it works
//!
//! One task a socket, the driver, receives datagrams in batches, hands them to their connections,
//! and sends their packets; with segmentation offload (GSO and GRO, Linux), up to 64 datagrams of
//! equal size are one system call. It reads the monotonic clock once a batch: the state machines themselves read
//! none. A datagram that the system does not take yet waits, and is not counted as lost.
//!
//! Each direction has one ring buffer. A reader that does not read closes the receive window that the
//! other end sees; a writer waits when the send buffer of its configuration is full.

mod clock;
mod connection_state;
mod driver;
mod gso_batch;
mod mux;
pub mod session;
mod socket;
mod stream;
mod stream_buffers;
mod udp;

pub use socket::{Options, Socket};
pub use stream::Stream;
