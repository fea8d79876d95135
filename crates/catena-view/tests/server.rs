//! What the server says to friends and to strangers.

use catena::model::embedded;
use catena::{Dynamics, Model, State};
use catena_view::live::Start;
use catena_view::scene::{Subject, scene};
use catena_view::server::{Content, Server};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};

/// A server of the Stanford arm in a thread of its own; its port.
fn served(live: bool) -> u16 {
    served_on(Ipv4Addr::LOCALHOST, live)
}

fn served_on(address: Ipv4Addr, live: bool) -> u16 {
    let model = embedded::model("stanford").expect("an embedded model");
    let state = State::neutral(&model);
    serve(address, model, state, live)
}

/// A server of a model, at a state of which its simulation begins.
fn serve(address: Ipv4Addr, model: Model, state: State, live: bool) -> u16 {
    let scene = scene(vec![Subject::of_model(model.name(), &model)], &["pose"]);
    let content = Content {
        scene: scene.to_string(),
        live: live.then(|| Start {
            model: model.clone(),
            state,
        }),
        models: vec![model],
    };
    let server = Server::bind(address.into(), 0, content).expect("a port");
    let url = server.url();
    let port = url.trim_end_matches('/').rsplit(':').next();
    let port = port.expect("a port").parse().expect("a number");
    std::thread::spawn(move || server.run());
    port
}

/// Sends bytes, returns the status and the whole answer.
fn send(port: u16, request: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    // a server that has refused may close before it has read everything
    let _ = stream.write_all(request);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|s| s.parse().ok());
    (status.unwrap_or(0), answer)
}

fn get(port: u16, path: &str, headers: &str) -> (u16, String) {
    send(
        port,
        format!("GET {path} HTTP/1.1\r\n{headers}\r\n").as_bytes(),
    )
}

fn post(port: u16, path: &str, headers: &str, body: &str) -> (u16, String) {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Length: {}\r\n{headers}\r\n",
        body.len()
    );
    send(port, format!("{head}{body}").as_bytes())
}

fn body(answer: &str) -> Value {
    let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
    serde_json::from_str(body).expect("JSON")
}

#[test]
fn the_page_and_its_scene_are_served() {
    let port = served(false);
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    let (status, page) = get(port, "/", &host);
    assert_eq!(status, 200);
    assert!(page.contains("<!doctype html>"));
    for header in [
        "X-Content-Type-Options: nosniff",
        "X-Frame-Options: DENY",
        "Content-Security-Policy: default-src 'none'",
        "Cross-Origin-Resource-Policy: same-origin",
    ] {
        assert!(page.contains(header), "{header}");
    }
    let (status, scene) = get(port, "/scene.json", &host);
    assert_eq!(status, 200);
    assert_eq!(body(&scene)["format"], "catena-scene/1");
    let localhost = format!("Host: localhost:{port}\r\nOrigin: http://localhost:{port}\r\n");
    assert_eq!(get(port, "/scene.json", &localhost).0, 200);
}

/// A page of another site, a name that was bound to 127.0.0.1, a frame of another page: none gets anything.
#[test]
fn strangers_are_refused() {
    let port = served(true);
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for headers in [
        String::new(),
        format!("Host: evil.example:{port}\r\n"),
        "Host: 127.0.0.1\r\n".to_string(),
        format!("Host: 127.0.0.1:{}\r\n", port.wrapping_add(1)),
        format!("Host: 127.0.0.1:{port}.evil.example\r\n"),
        format!("{host}Host: evil.example\r\n"),
        format!("{host}Origin: http://evil.example\r\n"),
        format!("{host}Origin: null\r\n"),
        format!("{host}Origin: https://127.0.0.1:{port}\r\n"),
        format!("{host}Origin: http://localhost:{port}\r\n"),
        format!("{host}Origin: http://127.0.0.1:{port}\r\nOrigin: http://evil.example\r\n"),
        format!("{host}Sec-Fetch-Site: cross-site\r\n"),
        format!("{host}Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n"),
    ] {
        for path in ["/", "/scene.json", "/live", "/pose"] {
            let (status, answer) = get(port, path, &headers);
            assert_eq!(status, 403, "{path} {headers}");
            assert!(!answer.contains("catena-scene"), "{path} {headers}");
        }
    }
    // a link to the page may be followed from anywhere, its data not
    let link = format!("{host}Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n");
    assert_eq!(get(port, "/", &link).0, 200);
    assert_eq!(get(port, "/scene.json", &link).0, 403);
}

/// On all addresses of the machine, each request still has to name the address that it came to.
#[test]
fn another_address_keeps_the_checks() {
    let port = served_on(Ipv4Addr::UNSPECIFIED, false);
    let host = |name: &str| get(port, "/scene.json", &format!("Host: {name}:{port}\r\n")).0;
    assert_eq!(host("127.0.0.1"), 200);
    for name in ["0.0.0.0", "127.0.0.2", "10.1.2.3", "evil.example"] {
        assert_eq!(host(name), 403, "{name}");
    }
}

#[test]
fn no_file_is_served() {
    let port = served(false);
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for path in [
        "/Cargo.toml",
        "/../Cargo.toml",
        "/..%2f..%2fetc/passwd",
        "/etc/passwd",
        "//etc/passwd",
        "/scene.json/../../../../etc/passwd",
        "/index.html",
        "/?x",
        "/assets/viewer.html",
        "http://127.0.0.1/etc/passwd",
    ] {
        assert_eq!(get(port, path, &host).0, 404, "{path}");
    }
    assert_eq!(
        get(port, "/live", &host).0,
        404,
        "no live run was asked for"
    );
}

#[test]
fn what_is_no_question_is_refused() {
    let port = served(false);
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    assert_eq!(send(port, b"\x16\x03\x01 hello\r\n\r\n").0, 400);
    assert_eq!(
        send(port, format!("DELETE / HTTP/1.1\r\n{host}\r\n").as_bytes()).0,
        405
    );
    let long = format!("{host}X: {}\r\n", "x".repeat(40_000));
    assert_eq!(get(port, "/", &long).0, 431);
    assert_eq!(post(port, "/pose", "", "{}").0, 415);
    let is_json = "Content-Type: application/json\r\n";
    let huge = format!("POST /pose HTTP/1.1\r\n{host}{is_json}Content-Length: 99999999\r\n\r\n");
    assert_eq!(send(port, huge.as_bytes()).0, 413);
    let no_length =
        format!("POST /pose HTTP/1.1\r\n{host}{is_json}Content-Length: two\r\n\r\n{{}}");
    assert_eq!(send(port, no_length.as_bytes()).0, 400);
    let longer = format!("POST /pose HTTP/1.1\r\n{host}{is_json}Content-Length: 1\r\n\r\n{{}}");
    assert_eq!(send(port, longer.as_bytes()).0, 400);
    let chunked = format!(
        "POST /pose HTTP/1.1\r\n{host}{is_json}Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
    assert_eq!(send(port, chunked.as_bytes()).0, 400);
    for question in [
        "",
        "[",
        "{}",
        r#"{"q": [1]}"#,
        r#"{"q": [0,0,0,0,0,"x"]}"#,
        r#"{"q": [0,0,0,0,0,0], "subject": 7}"#,
    ] {
        let (status, answer) = post(port, "/pose", is_json, question);
        assert_eq!(status, 200);
        assert!(body(&answer)["error"].is_string(), "{question}: {answer}");
    }
}

/// Sliders show the engine's own gravity torques.
#[test]
fn the_engine_answers() {
    let port = served(false);
    let is_json = "Content-Type: application/json\r\n";
    let q = [0.1, 1.2, 0.5, 0.3, -0.4, 0.5];
    let question = json!({ "q": q }).to_string();
    let (_, answer) = post(port, "/pose", is_json, &question);
    let answer = body(&answer);
    let model = embedded::model("stanford").expect("an embedded model");
    let mut dynamics = Dynamics::new(&model);
    let state = State::new(&model, &q, &[0.0; 6]).expect("a state");
    let expected = dynamics.gravity(&state).expect("efforts").to_vec();
    let found: Vec<f64> = answer["gravity"]
        .as_array()
        .expect("efforts")
        .iter()
        .map(|x| x.as_f64().expect("a number"))
        .collect();
    assert_eq!(found, expected);
    assert!(expected.iter().any(|x| x.abs() > 1.0));
    let (_, answer) = post(port, "/matrices", is_json, &question);
    let inertia = dynamics.inertia(&state).expect("a matrix");
    assert_eq!(body(&answer)["inertia"][2][2], inertia.row(2)[2]);
    let (_, answer) = post(port, "/findings", is_json, &question);
    assert_eq!(body(&answer)["findings"][0]["level"], "good");
}

/// A request that is cut off gets no answer, and the server continues.
#[test]
fn cut_off_requests_are_left() {
    let port = served(false);
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    for part in [
        "".to_string(),
        "GET / HT".into(),
        format!("GET / HTTP/1.1\r\n{host}"),
        format!("POST /pose HTTP/1.1\r\n{host}Content-Length: 9\r\n\r\n{{"),
    ] {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        stream.write_all(part.as_bytes()).expect("a part");
        stream.shutdown(std::net::Shutdown::Write).expect("its end");
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        assert!(answer.is_empty(), "{part:?}");
    }
    assert_eq!(get(port, "/", &host).0, 200);
}

#[test]
fn a_port_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let port = taken.local_addr().expect("its address").port();
    let content = Content {
        scene: String::new(),
        models: Vec::new(),
        live: None,
    };
    let error = Server::bind(Ipv4Addr::LOCALHOST.into(), port, content).expect_err("it is taken");
    assert!(
        error
            .message()
            .starts_with(&format!("port {port} of 127.0.0.1 cannot be used: ")),
        "{error}"
    );
    assert_eq!(
        error.advice(),
        Some("give another by --port, or 0 for any that is free")
    );
}

/// The answer to a question about the only model of a server.
fn ask(model: &Model, path: &str, question: &Value) -> Value {
    let port = serve(
        Ipv4Addr::LOCALHOST,
        model.clone(),
        State::neutral(model),
        false,
    );
    let (status, answer) = post(
        port,
        path,
        "Content-Type: application/json\r\n",
        &question.to_string(),
    );
    assert_eq!(status, 200, "{answer}");
    body(&answer)
}

fn told(findings: &Value) -> Vec<String> {
    let list = findings["findings"].as_array().expect("findings");
    list.iter()
        .map(|one| {
            format!(
                "{}: {}",
                one["level"].as_str().expect("a level"),
                one["text"].as_str().expect("a text")
            )
        })
        .collect()
}

/// Loops are closed while the coordinate that a slider moves stays, and what the doctor finds is reported.
#[test]
fn loops_are_closed_and_examined() {
    let model = embedded::model("four-bar-1").expect("an embedded model");
    let q = [1.2, -1.0, 1.0];
    let pose = ask(&model, "/pose", &json!({ "q": q, "held": 0 }));
    assert!((pose["q"][0].as_f64().expect("a number") - 1.2).abs() < 1e-12);
    assert!(pose["gap"].as_f64().expect("a gap") < 1e-9, "{pose}");
    // a planar loop between joints in space: three of its six rows are not needed
    let found = told(&ask(&model, "/findings", &json!({ "q": q })));
    assert!(
        found[0]
            .starts_with("note: 3 freedoms of the tree − 5 rows = -2 by counting; 1 freedom here."),
        "{found:?}"
    );
    assert!(
        found
            .iter()
            .any(|text| text.starts_with("warning: 3 rows depend on the others: loads in ")),
        "{found:?}"
    );
    assert!(
        found.iter().any(|text| text.contains(" would remove ")),
        "{found:?}"
    );
    // all rods in one line: a second freedom
    let flat = told(&ask(&model, "/findings", &json!({ "q": [0.0, 0.0, 0.0] })));
    assert!(
        flat.iter()
            .any(|text| text == "warning: Singular position: 2 freedoms here, 1 elsewhere."),
        "{flat:?}"
    );
    // more rows than a page waits for
    let long = embedded::model("four-bar-100").expect("an embedded model");
    let found = told(&ask(
        &long,
        "/findings",
        &json!({ "q": State::<f64>::start(&long).q }),
    ));
    assert!(
        found[0].ends_with("rows of constraints are not examined here; `catena doctor` does it."),
        "{found:?}"
    );
}

#[test]
fn large_matrices_are_refused() {
    let model = embedded::model("chain-401").expect("an embedded model");
    let answer = ask(&model, "/matrices", &json!({ "q": vec![0.1; 401] }));
    assert_eq!(
        answer["error"],
        "matrices of more than 400 freedoms are not shown; `chain-401` has 401"
    );
    let wrong = ask(&model, "/findings", &json!({ "q": [1, 2] }));
    assert!(
        wrong["error"]
            .as_str()
            .is_some_and(|text| text.contains("401")),
        "{wrong}"
    );
}

#[test]
fn a_live_run_moves_and_is_left_when_it_is_flooded() {
    let port = served(true);
    let address = format!("ws://127.0.0.1:{port}/live");
    let connect = |origin: &str| {
        use tungstenite::client::IntoClientRequest;
        let mut request = address.as_str().into_client_request().expect("a request");
        let origin = origin.parse().expect("a header");
        request.headers_mut().insert("Origin", origin);
        let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        tungstenite::client(request, stream).ok()
    };
    assert!(connect("http://evil.example").is_none());
    let (mut socket, _) = connect(&format!("http://127.0.0.1:{port}")).expect("a socket");
    socket
        .send(tungstenite::Message::text(r#"{"run": true}"#))
        .expect("a wish");
    let mut times = Vec::new();
    while times.len() < 8 {
        if let tungstenite::Message::Binary(bytes) = socket.read().expect("a message") {
            assert_eq!(bytes.len(), 8 + 4 * 7 * 7);
            times.push(f64::from_le_bytes(bytes[..8].try_into().expect("a time")));
        }
    }
    assert!(times.last() > times.first(), "{times:?}");
    // more than any hand can do
    for _ in 0..2000 {
        if socket
            .send(tungstenite::Message::text(r#"{"speed": 1}"#))
            .is_err()
        {
            break;
        }
    }
    assert!(ends(&mut socket));
    // and a request that is far too long
    let (mut socket, _) = connect(&format!("http://127.0.0.1:{port}")).expect("a socket");
    let long = format!(r#"{{"speed": 1, "x": "{}"}}"#, "x".repeat(5000));
    let _ = socket.send(tungstenite::Message::text(long));
    assert!(ends(&mut socket));
    // one of the allowed length is taken
    let (mut socket, _) = connect(&format!("http://127.0.0.1:{port}")).expect("a socket");
    let short = format!(r#"{{"step": 0.02, "x": "{}"}}"#, "x".repeat(4000));
    socket
        .send(tungstenite::Message::text(short))
        .expect("a wish");
    let moved = (0..20).any(|_| match socket.read() {
        Ok(tungstenite::Message::Binary(bytes)) => bytes[..8] != [0; 8],
        _ => false,
    });
    assert!(moved);
}

/// A page that opens a socket to the simulation.
fn page_of(port: u16) -> tungstenite::WebSocket<TcpStream> {
    use tungstenite::client::IntoClientRequest;
    let mut request = format!("ws://127.0.0.1:{port}/live")
        .into_client_request()
        .expect("a request");
    let origin = format!("http://127.0.0.1:{port}")
        .parse()
        .expect("a header");
    request.headers_mut().insert("Origin", origin);
    let stream = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
    tungstenite::client(request, stream).expect("a socket").0
}

/// The next text that holds a key.
fn text_with(socket: &mut tungstenite::WebSocket<TcpStream>, key: &str) -> Value {
    for _ in 0..1000 {
        if let tungstenite::Message::Text(text) = socket.read().expect("a message") {
            let value: Value = serde_json::from_str(&text).expect("JSON");
            if !value[key].is_null() {
                return value;
            }
        }
    }
    panic!("no text with {key}");
}

/// An invalid request is answered with an error, and the run continues; a run that cannot continue stops and says why.
#[test]
fn a_live_run_tells_its_errors() {
    let port = served(true);
    let mut socket = page_of(port);
    let mut wish = |text: &str| {
        socket
            .send(tungstenite::Message::text(text))
            .expect("a wish")
    };
    wish(r#"{"run": true}"#);
    wish("no JSON");
    wish(r#"{"drive": "fly"}"#);
    let answer = text_with(&mut socket, "error");
    assert_eq!(
        (&answer["error"], &answer["running"]),
        (&json!("a request must be JSON"), &json!(true))
    );
    let answer = text_with(&mut socket, "error");
    assert_eq!(answer["error"], "there is no drive `fly`");
    // what is no text is left out, and the page that closes is left
    socket
        .send(tungstenite::Message::binary(vec![1, 2, 3]))
        .expect("bytes");
    socket
        .send(tungstenite::Message::text(
            r#"{"reset": true, "pull": null}"#,
        ))
        .expect("a wish");
    assert!(text_with(&mut socket, "time")["running"] == true);
    socket.close(None).expect("the end");
    assert!(ends(&mut socket));

    let model = embedded::model("planar3").expect("an embedded model");
    let state = State::new(&model, &[0.0; 3], &[1e160; 3]).expect("a state");
    let port = serve(Ipv4Addr::LOCALHOST, model, state, true);
    let mut socket = page_of(port);
    socket
        .send(tungstenite::Message::text(r#"{"run": true}"#))
        .expect("a wish");
    let answer = text_with(&mut socket, "error");
    assert_eq!(answer["running"], false);
    assert!(
        answer["error"]
            .as_str()
            .is_some_and(|text| text.contains("overflows")),
        "{answer}"
    );
}

/// More connections than a page needs are refused, and taken again when others have gone.
#[test]
fn connections_are_limited() {
    let port = served(false);
    let idle: Vec<TcpStream> = (0..32)
        .map(|_| TcpStream::connect(("127.0.0.1", port)).expect("a connection"))
        .collect();
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    // those that wait are counted as they are taken, one after the other
    let refused = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        get(port, "/", &host).0 == 503
    });
    assert!(refused);
    drop(idle);
    let taken = (0..100).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(20));
        get(port, "/", &host).0 == 200
    });
    assert!(taken);
}

/// Does the other side end the conversation?
fn ends(socket: &mut tungstenite::WebSocket<TcpStream>) -> bool {
    (0..100_000).any(|_| matches!(socket.read(), Err(_) | Ok(tungstenite::Message::Close(_))))
}
