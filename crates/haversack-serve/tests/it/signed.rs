//! Those who sign tokens: key pairs that everybody knows, and a server that hands out the public halves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, Header, get_current_timestamp};
use ring::signature::Ed25519KeyPair;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

/// A key pair that is public for everyone, as a test key should be.
pub(crate) struct SigningKeyPair {
    pub(crate) id: &'static str,
    pub(crate) public: &'static str,
    pub(crate) private: &'static str,
}

/// The pair of RFC 8037, appendix A.
pub(crate) const FIRST: SigningKeyPair = SigningKeyPair {
    id: "first",
    public: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
    private: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
};

/// The second pair of RFC 8032, section 7.1.
pub(crate) const SECOND: SigningKeyPair = SigningKeyPair {
    id: "second",
    public: "PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw",
    private: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
};

impl SigningKeyPair {
    fn signs(&self, text: &[u8]) -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&self.private[at..at + 2], 16).unwrap();
        let seed: Vec<u8> = (0..self.private.len()).step_by(2).map(byte).collect();
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).unwrap();
        pair.sign(text).as_ref().to_vec()
    }

    /// A token that this pair signed, with claims and header changed.
    pub(crate) fn token(&self, change: impl FnOnce(&mut Value, &mut Header)) -> String {
        let mut claims = json!({
            "iss": "https://login.example", "aud": "haversack", "sub": "anna",
            "exp": get_current_timestamp() + 600, "scope": "read write admin-not",
            "groups": ["sales"], "workspaces": ["acme"],
        });
        let mut header = Header::new(Algorithm::EdDSA);
        header.kid = Some(self.id.into());
        change(&mut claims, &mut header);
        encode(&header, &claims, |text| self.signs(text))
    }

    pub(crate) fn plain(&self) -> String {
        self.token(|_, _| ())
    }
}

/// A token with any signature.
pub(crate) fn encode(header: &Header, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let encoded = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes);
    let header = encoded(&serde_json::to_vec(header).unwrap());
    let signed = format!("{header}.{}", encoded(claims.to_string().as_bytes()));
    format!("{signed}.{}", encoded(&sign(signed.as_bytes())))
}

/// A set of the public halves.
pub(crate) fn set(pairs: &[&SigningKeyPair]) -> String {
    let key = |pair: &&SigningKeyPair| json!({ "kty": "OKP", "crv": "Ed25519", "x": pair.public, "kid": pair.id });
    json!({ "keys": pairs.iter().map(key).collect::<Vec<_>>() }).to_string()
}

/// A server on this machine that answers whatever it is told to, and counts.
pub(crate) struct Issuer {
    pub(crate) url: String,
    answer: Arc<Mutex<Vec<u8>>>,
    asked: Arc<AtomicUsize>,
    pub(crate) task: JoinHandle<()>,
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Issuer {
    pub(crate) async fn with(keys: &str) -> Issuer {
        Issuer::giving(keys, Arc::new(Semaphore::new(1_000))).await
    }

    /// One that gives an answer for each permit.
    pub(crate) async fn giving(keys: &str, answers: Arc<Semaphore>) -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/keys", listener.local_addr().unwrap());
        let answer = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::new(AtomicUsize::new(0));
        let shared = (Arc::clone(&answer), Arc::clone(&asked));
        let task = tokio::spawn(async move {
            let (answer, asked) = shared;
            while let Ok((mut stream, _)) = listener.accept().await {
                asked.fetch_add(1, Ordering::Relaxed);
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(stream.read_u8().await.unwrap());
                }
                answers.acquire().await.unwrap().forget();
                let bytes = answer.lock().unwrap().clone();
                // Who does not want the rest closes.
                let _ = stream.write_all(&bytes).await;
            }
        });
        let issuer = Issuer { url, answer, asked, task };
        issuer.gives(keys);
        issuer
    }

    pub(crate) fn gives(&self, keys: &str) {
        self.says("200 OK", "", keys);
    }

    pub(crate) fn says(&self, status: &str, header: &str, body: &str) {
        let length = body.len();
        let text = format!(
            "HTTP/1.1 {status}\r\n{header}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
        );
        *self.answer.lock().unwrap() = text.into_bytes();
    }

    pub(crate) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}
