use super::Receipt;
use super::active_stream::{ActiveStream, Ending, Stopper};
use super::conduit::Transport;
use super::frames::Reader;
use super::handle::{First, SessionHandle, race};
use super::hello::Reply;
use std::io;
use std::time::Duration;
use tokio::time::timeout;

/// Bytes that are read at once.
const READ_BYTES: usize = 256 * 1024;
/// How long a sender may be silent: more than the longest silence of a connection that
/// lives, because the sender's window may be closed to a crawl.
const SILENCE: Duration = Duration::from_secs(120);
/// How long the end of a connection is waited for after the last message.
pub(super) const LINGER_PATIENCE: Duration = Duration::from_secs(5);

/// Receives a stream to its end, and sends the receipt.
pub(super) async fn receive(active: &ActiveStream, seed: u64, control: &SessionHandle) -> Ending {
    let mut reader = Reader::new(seed);
    let outcome = match race(converse(active, &mut reader, control), control.now()).await {
        First::This(outcome) => outcome,
        First::That(()) => {
            active.conduit.abort();
            Err(io::Error::new(io::ErrorKind::ConnectionAborted, "stopped at once"))
        }
    };
    let mut ending = Ending {
        digest: format!("{:032x}", reader.digest.value()),
        verified: reader.is_equal(),
        ..Ending::default()
    };
    match outcome {
        Ok(stopped) => {
            if stopped {
                ending.stopped_by = Some(Stopper::Receiver);
                ending.verified = ending.verified.or_else(|| Some(reader.is_as_announced()));
            }
        }
        Err(error) => ending.error = Some(error),
    }
    ending
}

/// Whether this end has stopped it.
async fn converse(
    active: &ActiveStream,
    reader: &mut Reader,
    control: &SessionHandle,
) -> io::Result<bool> {
    let mut buffer = vec![0; READ_BYTES];
    let stopped = match race(listen(active, reader, &mut buffer), control.end()).await {
        First::This(heard) => {
            heard?;
            false
        }
        First::That(()) => true,
    };
    active.end();
    let receipt = Receipt {
        bytes: reader.bytes,
        digest: format!("{:032x}", reader.digest.value()),
        equal: reader.is_equal(),
        stopped,
        nanos: Duration::try_from_secs_f64(active.seconds())
            .map_or(0, |span| u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)),
    };
    Reply::Receipt(receipt).write(&active.conduit).await?;
    active.conduit.shutdown().await?;
    // Until the sender has closed as well; what it had queued is of no interest any more.
    let rest = async {
        while active.conduit.read(&mut buffer).await? > 0 {}
        match active.conduit.transport() {
            Transport::Utp => active.conduit.delivered().await,
            // The kernel goes on by itself.
            Transport::Tcp => Ok(()),
        }
    };
    let _ = timeout(LINGER_PATIENCE, rest).await;
    Ok(stopped)
}

/// Reads until the sender's closing message.
async fn listen(active: &ActiveStream, reader: &mut Reader, buffer: &mut [u8]) -> io::Result<()> {
    while !reader.is_done() {
        let len = timeout(SILENCE, active.conduit.read(buffer)).await.map_err(|_| {
            io::Error::new(io::ErrorKind::TimedOut, "the sender has been silent for too long")
        })??;
        if len == 0 {
            let text = "the sender has closed in the middle";
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, text));
        }
        active.begin();
        reader.take(&buffer[..len])?;
        active.set_arrived(reader.bytes);
    }
    Ok(())
}
