use super::Receipt;
use super::active_stream::{ActiveStream, Ending, Stopper, now};
use super::content::{Content, Digest};
use super::frames::trailer;
use super::handle::{First, SessionHandle, race};
use super::hello::{Amount, Reply};
use super::rate_limit::RateLimit;
use std::io;
use std::time::Duration;
use tokio::time::{sleep_until, timeout};

/// How long the receiver has for its receipt after it has acknowledged everything.
const RECEIPT_PATIENCE: Duration = Duration::from_secs(30);

/// The sending end of a stream.
pub(super) struct Source<'a> {
    active: &'a ActiveStream,
    control: &'a SessionHandle,
    content: Content,
    amount: Amount,
    rate_limit: RateLimit,
    sent: u64,
    digest: Digest,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        active: &'a ActiveStream,
        control: &'a SessionHandle,
        seed: u64,
        amount: Amount,
        rate: Option<u64>,
    ) -> Source<'a> {
        Source {
            active,
            control,
            content: Content::new(seed),
            amount,
            rate_limit: RateLimit::new(rate),
            sent: 0,
            digest: Digest::default(),
        }
    }

    /// Sends, and waits for the receiver's receipt.
    pub(super) async fn run(mut self) -> Ending {
        let control = self.control;
        let outcome = match race(self.converse(), control.now()).await {
            First::This(outcome) => outcome,
            First::That(()) => {
                let text = "stopped at once";
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, text))
            }
        };
        let digest = format!("{:032x}", self.digest.value());
        match outcome {
            Ok((receipt, stopped_by)) => {
                let verified = if receipt.stopped {
                    let expected = self.content.digest(receipt.bytes).value();
                    receipt.digest == format!("{expected:032x}")
                } else {
                    let equal = receipt.equal == Some(true);
                    equal && receipt.bytes == self.sent && receipt.digest == digest
                };
                let verified = Some(verified);
                Ending { digest, verified, stopped_by, receipt: Some(receipt), error: None }
            }
            Err(error) => Ending { digest, error: Some(error), ..Ending::default() },
        }
    }

    async fn converse(&mut self) -> io::Result<(Receipt, Option<Stopper>)> {
        let active = self.active;
        let conduit = &active.conduit;
        let mut early = std::pin::pin!(read_receipt(active));
        let mut stopped_by = None;
        let mut receipt = None;
        match race(self.send(), &mut early).await {
            First::This(stopped) => {
                if stopped? {
                    stopped_by = Some(Stopper::Sender);
                }
            }
            First::That(said) => {
                receipt = Some(said?);
                stopped_by = Some(Stopper::Receiver);
            }
        }
        if receipt.is_some() {
            conduit.shutdown().await?;
        } else {
            // The receiver may stop while the rest is under way, and its receipt then comes first.
            match race(conduit.delivered(), &mut early).await {
                First::This(done) => done?,
                First::That(said) => receipt = Some(said?),
            }
        }
        active.end();
        let receipt = match receipt {
            Some(receipt) => receipt,
            None => timeout(RECEIPT_PATIENCE, early).await.map_err(|_| silent())??,
        };
        if receipt.stopped {
            stopped_by = stopped_by.or(Some(Stopper::Receiver));
        }
        Ok((receipt, stopped_by))
    }

    /// Queues everything, up to the end of the stream. Returns whether it was stopped before.
    async fn send(&mut self) -> io::Result<bool> {
        let conduit = &self.active.conduit;
        let began = self.active.begin();
        let (max, deadline) = match self.amount {
            Amount::Bytes(bytes) => (bytes, None),
            Amount::Time(span) => (u64::MAX, began.checked_add(span)),
        };
        while self.sent < max
            && !self.control.is_stopped()
            && deadline.is_none_or(|deadline| now() < deadline)
        {
            let due = began.checked_add(self.rate_limit.due(self.sent));
            let due = due.or(deadline).filter(|due| *due > now());
            if let Some(due) = due {
                let until = deadline.map_or(due, |deadline| deadline.min(due));
                race(sleep_until(until), self.control.end()).await;
                continue;
            }
            let left = usize::try_from(max - self.sent).unwrap_or(usize::MAX);
            let chunk = self.content.slice(self.sent, left.min(self.rate_limit.chunk()));
            conduit.write_all(&(chunk.len() as u32).to_be_bytes()).await?;
            conduit.write_all(chunk).await?;
            self.digest.update(chunk);
            self.sent += chunk.len() as u64;
            self.active.set_queued(self.sent);
        }
        let stopped = self.control.is_stopped();
        conduit.write_all(&trailer(self.sent, self.digest.value())).await?;
        conduit.shutdown().await?;
        Ok(stopped)
    }
}

async fn read_receipt(active: &ActiveStream) -> io::Result<Receipt> {
    match Reply::read(&active.conduit).await? {
        Reply::Receipt(receipt) => Ok(receipt),
        Reply::Ready { .. } => Err(io::Error::new(io::ErrorKind::InvalidData, "no receipt")),
    }
}

fn silent() -> io::Error {
    let text = "the other end has taken everything and says nothing: is it `flashcrowd utp serve`?";
    io::Error::new(io::ErrorKind::InvalidData, text)
}
