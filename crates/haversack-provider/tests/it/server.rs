//! A server on loopback that answers as a test says and remembers what it was asked.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// A request as the server read it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
    pub(crate) at: Instant,
}

impl Asked {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// An answer of the server.
#[derive(Debug, Clone)]
pub(crate) struct Reply {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
    delay: Duration,
    /// Whether the connection ends in the middle of the body.
    is_cut: bool,
}

impl Reply {
    pub(crate) fn json(body: &Value) -> Reply {
        Reply::status(200, &body.to_string())
    }

    pub(crate) fn status(status: u16, body: &str) -> Reply {
        let (headers, body) = (Vec::new(), body.to_owned());
        Reply { status, headers, body, delay: Duration::ZERO, is_cut: false }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Reply {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn after(mut self, delay: Duration) -> Reply {
        self.delay = delay;
        self
    }

    pub(crate) fn cut(mut self) -> Reply {
        self.is_cut = true;
        self
    }
}

/// A server that runs until the test process ends.
pub(crate) struct TestServer {
    pub(crate) url: String,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl TestServer {
    /// Answers each request by a function of the request and its number, from zero.
    pub(crate) fn start(
        answer: impl Fn(&Asked, usize) -> Reply + Send + Sync + 'static,
    ) -> TestServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked: Arc<Mutex<Vec<Asked>>> = Arc::default();
        let (kept, answer) = (Arc::clone(&asked), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (kept, answer) = (Arc::clone(&kept), Arc::clone(&answer));
                thread::spawn(move || serve(&stream, &kept, &*answer));
            }
        });
        TestServer { url, asked }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

fn serve(stream: &TcpStream, kept: &Mutex<Vec<Asked>>, answer: &dyn Fn(&Asked, usize) -> Reply) {
    let mut reader = BufReader::new(stream);
    while let Some(asked) = read(&mut reader) {
        let number = {
            let mut kept = kept.lock().unwrap();
            kept.push(asked.clone());
            kept.len() - 1
        };
        let reply = answer(&asked, number);
        thread::sleep(reply.delay);
        let mut head = format!("HTTP/1.1 {} Answer\r\n", reply.status);
        head.push_str(&format!("content-length: {}\r\n", reply.body.len()));
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let body = if reply.is_cut { &reply.body[..reply.body.len() / 2] } else { &reply.body };
        let mut stream = stream;
        if stream.write_all(format!("{head}{body}").as_bytes()).is_err() || reply.is_cut {
            return;
        }
    }
}

fn read(reader: &mut BufReader<&TcpStream>) -> Option<Asked> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|bytes| *bytes > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.to_owned())),
            None => break,
        }
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let length = length.and_then(|(_, value)| value.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Asked { path, headers, body, at: Instant::now() })
}
