//! The certificate of the server and its key, read from files again on request.

use rustls::crypto::ring;
use rustls::pki_types::pem::{Error as PemError, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{Error, ServerConfig};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

/// Protocols that a client may choose from (ALPN), the best one first.
const PROTOCOLS: [&[u8]; 2] = [HTTP_2, b"http/1.1"];
/// HTTP/2 in ALPN (RFC 9113, 3.2).
pub(crate) const HTTP_2: &[u8] = b"h2";

/// Where the server's certificate and its key are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TlsFiles {
    /// PEM: the server's certificate, then those that lead to one that clients know.
    pub certificate: PathBuf,
    /// PEM: the key, without a password.
    pub key: PathBuf,
}

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct TlsError {
    /// The file that it is about.
    pub path: String,
    /// The mistake, in words.
    pub why: String,
}

/// The files of TLS, as they were last read.
#[derive(Debug)]
pub(crate) struct Tls {
    files: TlsFiles,
    config: RwLock<Arc<ServerConfig>>,
}

impl Tls {
    pub(crate) fn open(files: &TlsFiles) -> Result<Tls, TlsError> {
        Ok(Tls { files: files.clone(), config: RwLock::new(Arc::new(read(files)?)) })
    }

    /// Reads the files again, for connections that begin from now on. What was read before holds if they are not right.
    pub(crate) fn reload(&self) -> Result<(), TlsError> {
        let config = Arc::new(read(&self.files)?);
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = config;
        Ok(())
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.config.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn wrong(path: &Path, why: impl Into<String>) -> TlsError {
    TlsError { path: path.display().to_string(), why: why.into() }
}

/// The mistake in a file that should have something in PEM.
fn unread(path: &Path, what: &str, error: &PemError) -> TlsError {
    wrong(
        path,
        match error {
            PemError::Io(error) => error.to_string(),
            PemError::NoItemsFound => format!("has no {what} in PEM"),
            error => format!("has no {what} in PEM ({error})"),
        },
    )
}

fn read(files: &TlsFiles) -> Result<ServerConfig, TlsError> {
    let TlsFiles { certificate, key } = files;
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| unread(certificate, "certificate", &error))?;
    if chain.is_empty() {
        return Err(unread(certificate, "certificate", &PemError::NoItemsFound));
    }
    let secret = PrivateKeyDer::from_pem_file(key)
        .map_err(|error| unread(key, "private key without a password", &error))?;
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let mut config = builder
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|error| match error {
            Error::InconsistentKeys(_) => {
                wrong(key, format!("is not the key of {}", certificate.display()))
            }
            Error::InvalidCertificate(why) => {
                wrong(certificate, format!("its certificate is not valid ({why:?})"))
            }
            error => wrong(key, format!("is no key that can be used ({error})")),
        })?;
    config.alpn_protocols = PROTOCOLS.map(<[u8]>::to_vec).to_vec();
    Ok(config)
}
