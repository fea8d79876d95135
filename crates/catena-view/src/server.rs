//! A server for one page, on loopback unless another address is given.
//!
//! It serves the page, the scene, the results of the [`engine`] and a [`live`] simulation, and no file. A page of another site can reach a
//! loopback server through the user's browser: it may send requests, or bind its own name to the address 127.0.0.1 (DNS rebinding). So
//! every request must name this server in `Host`, by the address it was sent to and not by a name, and where a browser says which page
//! sends it (`Origin`, `Sec-Fetch-Site`), it must be this page.

use crate::{engine, live, page};
use catena::Model;
use catena::error::{Error, ErrorKind, Result};
use serde_json::{Value, json};
use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Longest head of a request, bytes.
const MOST_HEAD: usize = 16 << 10;
/// Longest body of a request, bytes.
const MOST_BODY: usize = 1 << 20;
/// Connections at a time.
const MOST_CONNECTIONS: usize = 32;
/// A browser that is silent for this long is disconnected.
const PATIENCE: Duration = Duration::from_secs(10);

/// What the page may load and run: its own script and style, and responses of this server.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What is served.
#[derive(Clone, Debug)]
pub struct Content {
    /// The scene as JSON.
    pub scene: String,
    /// The models of its subjects.
    pub models: Vec<Model>,
    /// The first model as a simulation that runs while the page is open.
    pub live: Option<live::Start>,
}

/// A server that listens.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    at: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    content: Content,
    connections: AtomicUsize,
}

impl Server {
    /// Listens on this port of an address; port 0 is any that is free.
    pub fn bind(address: IpAddr, port: u16, content: Content) -> Result<Self> {
        let refused = |error: io::Error| {
            Error::new(
                ErrorKind::File,
                format!("port {port} of {address} cannot be used: {error}"),
            )
            .hint("give another by --port, or 0 for any that is free")
        };
        let listener = TcpListener::bind((address, port)).map_err(refused)?;
        let at = listener.local_addr().map_err(refused)?;
        Ok(Server {
            listener,
            at,
            shared: Arc::new(Shared {
                content,
                connections: AtomicUsize::new(0),
            }),
        })
    }

    /// Where the page is.
    pub fn url(&self) -> String {
        format!("http://{}/", self.at)
    }

    /// Serves until the process ends.
    pub fn run(self) -> Result<()> {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => self.take(stream),
                // a connection that was closed before it was accepted
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    let message = format!("no more connections can be taken: {error}");
                    return Err(Error::new(ErrorKind::File, message));
                }
            }
        }
    }

    fn take(&self, mut stream: TcpStream) {
        let shared = Arc::clone(&self.shared);
        if shared.connections.fetch_add(1, Ordering::SeqCst) >= MOST_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::SeqCst);
            let _ = Reply::refusal(503, "too many connections").send(&mut stream);
            return;
        }
        std::thread::spawn(move || {
            // a client that has disconnected needs no response
            let _ = shared.serve(stream);
            shared.connections.fetch_sub(1, Ordering::SeqCst);
        });
    }
}

impl Shared {
    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        let request = match Request::read(&mut stream)? {
            Ok(request) => request,
            Err(reply) => return reply.send(&mut stream),
        };
        if let Err(reply) = request.check(stream.local_addr()?) {
            return reply.send(&mut stream);
        }
        if request.path == "/live" {
            return match (&self.content.live, request.header("sec-websocket-key")) {
                (Some(start), Some(key)) if request.header("origin").is_some() => {
                    live::serve(stream, key, start)
                }
                _ => Reply::refusal(404, "there is no live simulation").send(&mut stream),
            };
        }
        self.answer(&request).send(&mut stream)
    }

    fn answer(&self, request: &Request) -> Reply {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET", "/") => Reply::new("text/html; charset=utf-8", page::served().into()),
            ("GET", "/scene.json") => {
                Reply::new("application/json", self.content.scene.clone().into())
            }
            ("POST", path @ ("/pose" | "/matrices" | "/findings")) => {
                let is_json = request
                    .header("content-type")
                    .is_some_and(|kind| kind.split(';').next() == Some("application/json"));
                if !is_json {
                    return Reply::refusal(415, "requests must be application/json");
                }
                // an error is a response, too: the page shows it
                let answer = self.ask(path, &request.body).unwrap_or_else(
                    |error| json!({ "error": error.message(), "hint": error.advice() }),
                );
                Reply::new("application/json", answer.to_string().into_bytes())
            }
            ("GET" | "POST", _) => Reply::refusal(404, "not found"),
            _ => Reply::refusal(405, "only GET and POST"),
        }
    }

    fn ask(&self, path: &str, body: &[u8]) -> Result<Value> {
        let bad = |what: &str| Error::new(ErrorKind::Input, what.to_string());
        let question: Value =
            serde_json::from_slice(body).map_err(|error| bad(&error.to_string()))?;
        let subject = question["subject"].as_u64().unwrap_or(0) as usize;
        let model = self
            .content
            .models
            .get(subject)
            .ok_or_else(|| bad("there is no such model"))?;
        let q: Option<Vec<f64>> = question["q"]
            .as_array()
            .and_then(|list| list.iter().map(Value::as_f64).collect());
        let q = q.ok_or_else(|| bad("the positions `q` are missing"))?;
        let held = question["held"].as_u64().map(|k| k as usize);
        match path {
            "/pose" => engine::posture(model, &engine::position(model, &q, held)?),
            "/matrices" => engine::matrices(model, &engine::position(model, &q, held)?),
            _ => Ok(
                json!({ "findings": engine::findings(model, &engine::position(model, &q, held)?) }),
            ),
        }
    }
}

/// The parts of a request that are used.
#[derive(Debug)]
struct Request {
    method: String,
    path: String,
    /// Names in lower case.
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    /// Reads a request; returns a response instead if it is invalid or too long.
    fn read(stream: &mut impl Read) -> io::Result<std::result::Result<Request, Reply>> {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            let mut headers = [httparse::EMPTY_HEADER; 64];
            let mut parser = httparse::Request::new(&mut headers);
            match parser.parse(&bytes) {
                Err(_) => return Ok(Err(Reply::refusal(400, "this is not HTTP"))),
                Ok(httparse::Status::Complete(head)) => {
                    let request = Request {
                        method: parser.method.unwrap_or_default().into(),
                        path: parser.path.unwrap_or_default().into(),
                        headers: parser
                            .headers
                            .iter()
                            .map(|h| {
                                let value = String::from_utf8_lossy(h.value).into_owned();
                                (h.name.to_ascii_lowercase(), value)
                            })
                            .collect(),
                        body: bytes[head..].to_vec(),
                    };
                    return request.read_body(stream);
                }
                Ok(httparse::Status::Partial) if bytes.len() > MOST_HEAD => {
                    return Ok(Err(Reply::refusal(
                        431,
                        "the head of the request is too long",
                    )));
                }
                Ok(httparse::Status::Partial) => {}
            }
            match stream.read(&mut part)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => bytes.extend_from_slice(&part[..count]),
            }
        }
    }

    fn read_body(
        mut self,
        stream: &mut impl Read,
    ) -> io::Result<std::result::Result<Request, Reply>> {
        let length = match self.header("content-length").map(str::parse::<usize>) {
            None => 0,
            Some(Ok(length)) if length <= MOST_BODY => length,
            Some(Ok(_)) => return Ok(Err(Reply::refusal(413, "the request is too long"))),
            Some(Err(_)) => {
                return Ok(Err(Reply::refusal(
                    400,
                    "the length of the body is not a number",
                )));
            }
        };
        if self.header("transfer-encoding").is_some() || self.body.len() > length {
            return Ok(Err(Reply::refusal(
                400,
                "the body must be as long as Content-Length says",
            )));
        }
        let begun = self.body.len();
        self.body.resize(length, 0);
        stream.read_exact(&mut self.body[begun..])?;
        Ok(Ok(self))
    }

    /// The value of a header that occurs once.
    fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(n, _)| n == name);
        match (values.next(), values.next()) {
            (Some((_, value)), None) => Some(value),
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.headers.iter().any(|(n, _)| n == name)
    }

    /// Checks that a request is for this server, which it reached at this address, and from its own page.
    fn check(&self, reached: SocketAddr) -> std::result::Result<(), Reply> {
        let host = self.header("host").unwrap_or_default();
        let is_own_name =
            reached.ip().is_loopback() && host == format!("localhost:{}", reached.port());
        if host != reached.to_string() && !is_own_name {
            return Err(Reply::refusal(403, "the Host is not this server"));
        }
        if self.has("origin") {
            let origin = self.header("origin").unwrap_or_default();
            if origin.strip_prefix("http://") != Some(host) {
                return Err(Reply::refusal(
                    403,
                    "requests of other origins are rejected",
                ));
            }
        }
        match self.header("sec-fetch-site") {
            None if !self.has("sec-fetch-site") => Ok(()),
            Some("same-origin" | "none") => Ok(()),
            // a link to the page itself may be followed from anywhere
            Some(_) if self.path == "/" && self.header("sec-fetch-mode") == Some("navigate") => {
                Ok(())
            }
            _ => Err(Reply::refusal(
                403,
                "requests of other origins are rejected",
            )),
        }
    }
}

/// An answer.
struct Reply {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

impl Reply {
    fn new(kind: &'static str, body: Vec<u8>) -> Self {
        Reply {
            status: 200,
            kind,
            body,
        }
    }

    fn refusal(status: u16, why: &str) -> Self {
        Reply {
            status,
            kind: "text/plain; charset=utf-8",
            body: format!("{why}\n").into_bytes(),
        }
    }

    fn send(&self, stream: &mut impl Write) -> io::Result<()> {
        let reason = match self.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            413 => "Content Too Large",
            415 => "Unsupported Media Type",
            431 => "Request Header Fields Too Large",
            _ => "Service Unavailable",
        };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\nCache-Control: no-store\r\n\
             X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\nReferrer-Policy: no-referrer\r\n\
             Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin\r\nContent-Security-Policy: {POLICY}\r\n\r\n",
            self.status,
            self.kind,
            self.body.len(),
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(&self.body)?;
        stream.flush()
    }
}
