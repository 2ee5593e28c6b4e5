//! A TCP proxy in front of a server, which cuts connections, delays what is sent and swallows answers when
//! a test tells it to.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// What happens to what a client sends or is sent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ProxyFault {
    /// Nothing.
    #[default]
    None,
    /// As soon as a client sends these bytes, all connections are cut, and they are not passed on.
    CutRequest(Vec<u8>),
    /// As soon as the server answers with these bytes, all connections are cut, and they are not passed on:
    /// the server has done its work, and the client learns nothing of it.
    CutAnswer(Vec<u8>),
    /// As soon as the server answers with these bytes, nothing that it sends is passed on any more.
    SwallowAnswer(Vec<u8>),
    /// Everything waits for that long in both directions.
    Delay(Duration),
    /// New connections are closed.
    Refuse,
}

/// A proxy on a free port of loopback.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
    is_stopped: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    fault: ProxyFault,
    /// Whether the bytes of the fault were seen.
    is_triggered: bool,
    streams: Vec<TcpStream>,
    accepted: usize,
    sent: usize,
}

impl Proxy {
    /// Starts a proxy in front of a port of loopback.
    ///
    /// # Panics
    /// When there is no free port.
    #[must_use]
    pub fn start(server_port: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let accepting = Arc::clone(&shared);
        thread::spawn(move || accept(&listener, server_port, &accepting));
        Proxy { address, shared }
    }

    /// Its port on loopback.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// Sets what goes wrong from now on.
    pub fn set_fault(&self, fault: ProxyFault) {
        let mut state = self.shared.state();
        state.fault = fault;
        state.is_triggered = false;
    }

    /// Waits until the bytes of the fault were seen.
    ///
    /// # Panics
    /// When they are not within a minute.
    pub fn wait_until_triggered(&self) {
        let state = self.shared.state();
        let minute = Duration::from_secs(60);
        let waited = self.shared.changed.wait_timeout_while(state, minute, |it| !it.is_triggered);
        let (state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(state.is_triggered, "nobody has sent the bytes of {:?}", state.fault);
    }

    /// Cuts all connections.
    pub fn cut(&self) {
        self.shared.state().cut();
    }

    /// How many connections were made so far.
    #[must_use]
    pub fn accepted(&self) -> usize {
        self.shared.state().accepted
    }

    /// How many pieces clients have sent so far. What a client sends at once comes in one piece or a few.
    #[must_use]
    pub fn sent(&self) -> usize {
        self.shared.state().sent
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.is_stopped.store(true, Ordering::SeqCst);
        self.cut();
        // Wakes the thread that accepts.
        drop(TcpStream::connect(self.address));
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn cut(&mut self) {
        for stream in self.streams.drain(..) {
            // One that the other side has closed is cut already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

fn accept(listener: &TcpListener, server_port: u16, shared: &Arc<Shared>) {
    for client in listener.incoming() {
        if shared.is_stopped.load(Ordering::SeqCst) {
            return;
        }
        let Ok(client) = client else { continue };
        let refuses = {
            let mut state = shared.state();
            state.accepted += 1;
            state.fault == ProxyFault::Refuse
        };
        if refuses {
            continue;
        }
        // A server that is down refuses, and so does its proxy.
        let Ok(server) = TcpStream::connect(("127.0.0.1", server_port)) else { continue };
        let copies = [&client, &server].map(|stream| stream.try_clone().unwrap());
        shared.state().streams.extend(copies);
        let (from_client, to_client) = (client.try_clone().unwrap(), client);
        let (from_server, to_server) = (server.try_clone().unwrap(), server);
        for (from, to, is_request) in
            [(from_client, to_server, true), (from_server, to_client, false)]
        {
            let shared = Arc::clone(shared);
            thread::spawn(move || pass_on(from, to, is_request, &shared));
        }
    }
}

/// Passes bytes on in one direction until either side closes.
fn pass_on(mut from: TcpStream, mut to: TcpStream, is_request: bool, shared: &Shared) {
    let mut buffer = vec![0; 64 << 10];
    // The end of what was sent before: the bytes that are looked for may come in two pieces.
    let mut seen: Vec<u8> = Vec::new();
    loop {
        let count = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let piece = &buffer[..count];
        seen.extend_from_slice(piece);
        let passes = is_passed_on(&mut seen, is_request, shared);
        if passes && to.write_all(piece).is_err() {
            break;
        }
    }
    let _ = from.shutdown(Shutdown::Both);
    let _ = to.shutdown(Shutdown::Both);
}

/// Decides about a piece, after whatever must happen before it.
fn is_passed_on(seen: &mut Vec<u8>, is_request: bool, shared: &Shared) -> bool {
    let mut state = shared.state();
    state.sent += usize::from(is_request);
    let wanted = match (&state.fault, is_request) {
        (ProxyFault::CutRequest(wanted), true) => wanted.clone(),
        (ProxyFault::CutAnswer(wanted) | ProxyFault::SwallowAnswer(wanted), false) => {
            wanted.clone()
        }
        _ => {
            seen.clear();
            if let ProxyFault::Delay(delay) = state.fault {
                drop(state);
                thread::sleep(delay);
            }
            return true;
        }
    };
    let is_there = seen.windows(wanted.len()).any(|window| window == wanted);
    seen.drain(..seen.len().saturating_sub(wanted.len()));
    if is_there {
        state.is_triggered = true;
        shared.changed.notify_all();
    }
    match state.fault {
        ProxyFault::SwallowAnswer(_) => !state.is_triggered,
        _ if is_there => {
            state.fault = ProxyFault::None;
            state.cut();
            false
        }
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that sends back what it gets.
    fn echo() -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                thread::spawn(move || {
                    let mut copy = stream.try_clone().unwrap();
                    std::io::copy(&mut stream, &mut copy)
                });
            }
        });
        port
    }

    fn ask(stream: &mut TcpStream, text: &[u8]) -> Option<Vec<u8>> {
        stream.write_all(text).ok()?;
        let mut answer = vec![0; text.len()];
        stream.read_exact(&mut answer).ok().map(|()| answer)
    }

    #[test]
    fn it_passes_on_cuts_and_swallows() {
        let proxy = Proxy::start(echo());
        let connect = || TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
        let mut first = connect();
        assert_eq!(ask(&mut first, b"one").as_deref(), Some(&b"one"[..]));
        proxy.set_fault(ProxyFault::CutAnswer(b"COMMIT".to_vec()));
        assert_eq!(ask(&mut first, b"two").as_deref(), Some(&b"two"[..]));
        assert_eq!(ask(&mut first, b"a COMMIT"), None);
        proxy.set_fault(ProxyFault::SwallowAnswer(b"x".to_vec()));
        let mut second = connect();
        assert_eq!(ask(&mut second, b"three").as_deref(), Some(&b"three"[..]));
        second.set_read_timeout(Some(Duration::from_millis(50))).unwrap();
        assert_eq!(ask(&mut second, b"x"), None);
        proxy.set_fault(ProxyFault::Refuse);
        assert_eq!(ask(&mut connect(), b"four"), None);
        assert_eq!(proxy.accepted(), 3);
    }
}
