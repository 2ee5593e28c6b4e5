//! Verifies the signatures of tokens by ring, which TLS uses as well. Tokens are never signed here.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{Error as JwtError, ErrorKind};
use jsonwebtoken::signature::{Error as SignatureError, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{self as by_ring, RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey};

/// How `jsonwebtoken` verifies.
static VERIFIERS: CryptoProvider = CryptoProvider {
    signer_factory: refuse_to_sign,
    verifier_factory: make_verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Has tokens verified here. An application that registered a provider of its own keeps it.
pub(super) fn install() {
    // Fails only if there is one already.
    let _ = VERIFIERS.install_default();
}

fn refuse_to_sign(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>, JwtError> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

fn make_verifier(
    algorithm: &Algorithm,
    key: &DecodingKey,
) -> Result<Box<dyn JwtVerifier>, JwtError> {
    let scheme = SignatureScheme::of(*algorithm).ok_or(ErrorKind::UnsupportedAlgorithm)?;
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(SignatureVerifier { algorithm: *algorithm, scheme, key: key.clone() }))
}

/// An algorithm as ring names it.
#[derive(Clone, Copy)]
enum SignatureScheme {
    Rsa(&'static RsaParameters),
    Curve(&'static dyn by_ring::VerificationAlgorithm),
}

impl SignatureScheme {
    /// `None` for shared secrets.
    fn of(algorithm: Algorithm) -> Option<SignatureScheme> {
        use SignatureScheme::{Curve, Rsa};
        Some(match algorithm {
            Algorithm::EdDSA => Curve(&by_ring::ED25519),
            Algorithm::ES256 => Curve(&by_ring::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Curve(&by_ring::ECDSA_P384_SHA384_FIXED),
            Algorithm::RS256 => Rsa(&by_ring::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Rsa(&by_ring::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Rsa(&by_ring::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Rsa(&by_ring::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Rsa(&by_ring::RSA_PSS_2048_8192_SHA384),
            _ => return None,
        })
    }
}

/// Verifies by one key.
struct SignatureVerifier {
    algorithm: Algorithm,
    scheme: SignatureScheme,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for SignatureVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), SignatureError> {
        let verified = match (self.scheme, self.key.kind()) {
            (SignatureScheme::Rsa(scheme), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(scheme, message, signature)
            }
            (SignatureScheme::Curve(scheme), DecodingKeyKind::SecretOrDer(key)) => {
                UnparsedPublicKey::new(scheme, key).verify(message, signature)
            }
            // Sets of keys hold RSA keys as two numbers.
            _ => return Err(SignatureError::new()),
        };
        // The cause says nothing, on purpose.
        verified.map_err(|_| SignatureError::new())
    }
}

impl JwtVerifier for SignatureVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
