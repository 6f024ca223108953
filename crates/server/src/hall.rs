use crate::access_log::{AccessLog, LoggedRequest};
use crate::admission::{Admission, Full};
use crate::desk::Overview;
use crate::live::Live;
use crate::meters::{Meters, Snapshot};
use crate::outcome::{Ending, Mode};
use crate::service::Service;
use crate::tls::Tls;
use crate::trusted::Network;
use http::StatusCode;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a refused client has to read why, and how many are answered at once.
const FAREWELL: Duration = Duration::from_secs(1);
pub(crate) const FAREWELLS: usize = 64;

/// The state that all connections share.
#[derive(Debug)]
pub(crate) struct Hall {
    pub(crate) service: Service,
    pub(crate) meters: Arc<Meters>,
    pub(crate) live: Live,
    pub(crate) log: Option<Arc<AccessLog>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) tls: Option<Tls>,
    /// Proxies that are believed.
    pub(crate) proxies: Vec<Network>,
    pub(crate) farewells: Arc<Semaphore>,
}

impl Hall {
    /// The server's activity, and its counters.
    pub(crate) fn snapshot(&self, overview: &Overview) -> Snapshot {
        self.meters.snapshot(overview, self.log.as_deref())
    }

    /// The same for Prometheus.
    pub(crate) fn exposition(&self, overview: &Overview) -> String {
        self.meters.exposition(overview, self.log.as_deref(), self.admission.addresses())
    }

    /// A permit for each refusal that is being sent.
    pub(crate) fn farewells() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(FAREWELLS))
    }

    /// Counts and logs an answer to no request, or to an unreadable one: of `status`, and without a body.
    pub(crate) fn answered(&self, peer: IpAddr, status: StatusCode) {
        let ending = Ending::NAMES[Ending::Complete as usize];
        self.meters.answered(status.as_u16(), Mode::Text as usize, ending);
        self.log_alone(peer, status, Ending::Complete);
    }

    /// A client has not sent its request in time. It gets no answer; the log has a line as if it had.
    pub(crate) fn late(&self, peer: IpAddr) {
        self.meters.late.fetch_add(1, Relaxed);
        self.log_alone(peer, StatusCode::REQUEST_TIMEOUT, Ending::Late);
    }

    /// TLS did not come about with a client that has said something. Nothing that HTTP knows was sent.
    pub(crate) fn without_tls(&self, peer: IpAddr) {
        self.log_alone(peer, StatusCode::BAD_REQUEST, Ending::Tls);
    }

    fn log_alone(&self, peer: IpAddr, status: StatusCode, ending: Ending) {
        let (mode, ending) = (Mode::NAMES[Mode::Text as usize], Ending::NAMES[ending as usize]);
        if let Some(log) = &self.log {
            let asked = LoggedRequest::default();
            log.line(peer, &asked, status.as_u16(), 0, 0.0, mode, 0, ending);
        }
    }

    /// Sends a refusal, if not too many are being sent already, and if that needs no TLS. The log has it either way.
    pub(crate) fn turn_away(self: &Arc<Self>, mut stream: TcpStream, peer: IpAddr, full: Full) {
        self.meters.turned_away[usize::from(full == Full::Address)].fetch_add(1, Relaxed);
        let status = full.status();
        let permit = Arc::clone(&self.farewells).try_acquire_owned().ok();
        let Some(permit) = permit.filter(|_| self.tls.is_none()) else {
            return self.log_alone(peer, status, Ending::Refused);
        };
        self.answered(peer, status);
        tokio::spawn(async move {
            let _permit = permit;
            let text = format!(
                "HTTP/1.1 {status}\r\nRetry-After: 10\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = timeout(FAREWELL, async {
                stream.write_all(text.as_bytes()).await?;
                stream.shutdown().await?;
                // Its bytes are read: a reset would take the answer away from it.
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            })
            .await;
        });
    }
}
