use crate::access_log::AccessLog;
use crate::admission::{Admission, Full};
use crate::live::Live;
use crate::meters::Meters;
use crate::service::Service;
use crate::tls::Tls;
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

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Hall {
    pub(crate) service: Service,
    pub(crate) meters: Arc<Meters>,
    pub(crate) live: Live,
    pub(crate) log: Option<Arc<AccessLog>>,
    pub(crate) admission: Arc<Admission>,
    pub(crate) tls: Option<Tls>,
    pub(crate) farewells: Arc<Semaphore>,
}

impl Hall {
    /// A permit for each refusal that is being sent.
    pub(crate) fn farewells() -> Arc<Semaphore> {
        Arc::new(Semaphore::new(FAREWELLS))
    }

    /// Sends a refusal, if not too many are being sent already, and if that needs no TLS.
    pub(crate) fn turn_away(self: &Arc<Self>, mut stream: TcpStream, full: Full) {
        self.meters.turned_away[usize::from(full == Full::Address)].fetch_add(1, Relaxed);
        if self.tls.is_some() {
            return;
        }
        let Ok(permit) = Arc::clone(&self.farewells).try_acquire_owned() else { return };
        let status = full.status();
        tokio::spawn(async move {
            let _permit = permit;
            let text = format!(
                "HTTP/1.1 {status}\r\nRetry-After: 10\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
            );
            let _ = timeout(FAREWELL, async {
                stream.write_all(text.as_bytes()).await?;
                stream.shutdown().await?;
                // What it has sent is read: a reset would take the answer away from it.
                tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
            })
            .await;
        });
    }
}
