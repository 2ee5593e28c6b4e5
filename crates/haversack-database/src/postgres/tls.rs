//! TLS by rustls, verified as far as the address asks for it.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::TlsMode;
use crate::error::DatabaseError;

/// Makes the connector of a mode that is not `Disable`.
pub(super) fn connector(
    mode: TlsMode,
    root_certificates: Option<&Path>,
) -> Result<MakeRustlsConnect, DatabaseError> {
    let provider = Arc::new(ring::default_provider());
    let authority = match mode {
        TlsMode::Disable | TlsMode::Prefer | TlsMode::Require => None,
        TlsMode::VerifyAuthority | TlsMode::VerifyFull => {
            let roots = Arc::new(roots(root_certificates)?);
            let verifier =
                WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider));
            Some(
                verifier
                    .build()
                    .map_err(|error| unusable(root_certificates, &error.to_string()))?,
            )
        }
    };
    let verifier = CertificateVerifier {
        provider: Arc::clone(&provider),
        authority,
        checks_name: mode == TlsMode::VerifyFull,
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable(None, &error.to_string()))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    Ok(MakeRustlsConnect::new(config))
}

fn roots(file: Option<&Path>) -> Result<RootCertStore, DatabaseError> {
    let mut roots = RootCertStore::empty();
    // `system` is libpq's word for the authorities that the system trusts.
    let Some(path) = file.filter(|file| *file != Path::new("system")) else {
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    };
    let certificates = CertificateDer::pem_file_iter(path);
    for certificate in certificates.map_err(|error| unusable(file, &error.to_string()))? {
        let certificate = certificate.map_err(|error| unusable(file, &error.to_string()))?;
        roots.add(certificate).map_err(|error| unusable(file, &error.to_string()))?;
    }
    Ok(roots)
}

fn unusable(file: Option<&Path>, cause: &str) -> DatabaseError {
    let message = match file {
        Some(file) => format!("sslrootcert {}: {cause}", file.display()),
        None => format!("no certificate can be verified: {cause}"),
    };
    DatabaseError::Address { message }
}

/// Verifies what the mode asks for: nothing, the authority, or the name as well.
#[derive(Debug)]
struct CertificateVerifier {
    provider: Arc<CryptoProvider>,
    authority: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
}

impl ServerCertVerifier for CertificateVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else { return Ok(ServerCertVerified::assertion()) };
        let verified = authority.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // The name is the last thing that is checked, so everything else is right.
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
