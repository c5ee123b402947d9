//! `belfry` against servers that are not the API: it fails and says so, and never reports as done or
//! as empty what it did not understand. And output whose reader is gone.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::binary;

/// A server that gives the same answer to every request, and remembers the requests.
struct Server {
    url: String,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn new(answer: impl Fn(&str) -> String + Send + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let Some(line) = request(&stream) else { continue };
                let answer = answer(&line);
                seen.lock().unwrap().push(line);
                let _ = (&stream).write_all(answer.as_bytes());
            }
        });
        Server { url, asked }
    }

    fn always(status: &str, kind: &str, body: &str) -> Server {
        let answer = answer(status, kind, body);
        Server::new(move |_| answer.clone())
    }

    fn run(&self, words: &[&str]) -> (Option<i32>, String, String) {
        told(&mut self.command(words))
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(binary("belfry"));
        command.args(words).env("BELFRY_URL", &self.url).env("BELFRY_TOKEN", "t");
        command
    }
}

fn answer(status: &str, kind: &str, body: &str) -> String {
    let kind = match kind {
        "" => String::new(),
        kind => format!("content-type: {kind}\r\n"),
    };
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\n{kind}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

/// Reads a request to its end; answers with its first line.
fn request(stream: &TcpStream) -> Option<String> {
    let mut reader = BufReader::new(stream);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).ok()?;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
    }
    reader.read_exact(&mut vec![0; length]).ok()?;
    Some(first.trim().to_owned())
}

fn told(command: &mut Command) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } = command.stdin(Stdio::null()).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

/// Every command that calls the API.
const COMMANDS: &[&[&str]] = &[
    &["schedules", "list"],
    &["schedules", "get", "s"],
    &["schedules", "create", "s", "--workflow", "w", "--cron", "* * * * *"],
    &["schedules", "edit", "s", "--cron", "* * * * *"],
    &["schedules", "edit", "s", "--cron", "* * * * *", "--dry-run"],
    &["schedules", "pause", "s", "--until", "2030-01-01T00:00:00Z"],
    &["schedules", "resume", "s"],
    &["schedules", "bulk", "pause", "--tag", "t"],
    &["schedules", "trigger", "s"],
    &["schedules", "backfill", "s", "--from", "a", "--to", "b"],
    &["schedules", "backfill", "s", "--from", "a", "--to", "b", "--dry-run"],
    &["schedules", "backfills", "s"],
    &["schedules", "backfills", "s", "b", "--cancel"],
    &["schedules", "ledger", "s"],
    &["schedules", "changes", "s"],
    &["schedules", "delete", "s"],
    &["runs", "list", "s"],
    &["runs", "get", "s@2026-01-01T00:00:00Z"],
    &["runs", "watch", "s@2026-01-01T00:00:00Z"],
    &["runs", "watch", "s", "--count", "1"],
    &["workflows", "list"],
    &["workflows", "list", "w"],
    &["workflows", "get", "w", "1"],
    &["workflows", "publish", "w", "1", "--target", "{}"],
    &["export"],
    &["export", "--set", "s"],
    &["adopt", "--set", "s", "a"],
    &["release", "--set", "s", "a"],
];

/// Every command, with and without `--json`, fails and explains.
#[track_caller]
fn all_fail(server: &Server, says: &str, but: &[&str]) {
    for words in COMMANDS.iter().filter(|words| !words.starts_with(but)) {
        for json in [&[][..], &["--json"]] {
            let words = [words, json].concat();
            let (code, out, err) = server.run(&words);
            assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}: {err}");
            assert!(err.starts_with("belfry: ") && err.contains(says), "{words:?}: {err}");
        }
    }
}

const NONE: &[&str] = &["none"];

#[test]
fn a_web_page_is_not_an_answer() {
    let page = Server::always("200 OK", "text/html; charset=utf-8", "<html>Welcome</html>");
    all_fail(&page, "text/html", NONE);
    // What looks like an answer and does not call itself JSON.
    all_fail(&Server::always("200 OK", "", "{}"), "not an answer of the API", NONE);
}

#[test]
fn json_of_another_shape_is_not_an_answer() {
    // To a DELETE the API answers without content, so that any content is wrong.
    let delete = &["schedules", "delete"];
    for body in ["{}", "[]", "null", "7", r#"{"status": "ok"}"#, r#"{"items": {}}"#, "{\"items\":"]
    {
        let server = Server::always("200 OK", "application/json", body);
        all_fail(&server, "the answer is not one that belfry", delete);
        let (code, _, err) = server.run(&["schedules", "delete", "s"]);
        assert_eq!((code, err.contains("not an answer of the API")), (Some(1), true), "{err}");
    }
    // An empty list that does not say whether it goes on.
    let server = Server::always("200 OK", "application/json", r#"{"items": []}"#);
    for words in [
        &["schedules", "list"][..],
        &["schedules", "changes", "s"],
        &["runs", "list", "s"],
        &["workflows", "list"],
        &["workflows", "list", "w"],
    ] {
        let (code, out, err) = server.run(words);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{words:?}");
        assert!(err.contains("next_cursor"), "{words:?}: {err}");
        // No list has no items on purpose.
        let (code, _, err) = server.run(&[words, &["--limit", "0"]].concat());
        assert_eq!(code, Some(2), "{words:?}: {err}");
    }
    // A list whose items are something else.
    let body = r#"{"items": [{"id": 1}], "next_cursor": null}"#;
    let server = Server::always("200 OK", "application/json", body);
    for words in [&["schedules", "list"][..], &["runs", "list", "s"], &["workflows", "list"]] {
        assert_eq!(server.run(words).0, Some(1), "{words:?}");
    }
}

#[test]
fn no_content_is_an_answer_only_to_a_deletion() {
    let server = Server::always("204 No Content", "", "");
    all_fail(&server, "answered 204 and no content", &["schedules", "delete"]);
    assert_eq!(server.run(&["schedules", "delete", "s"]).0, Some(0));
    let (code, out, _) = server.run(&["schedules", "delete", "s", "--json"]);
    let told: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((code, told), (Some(0), json!({"deleted": "s"})));
}

#[test]
fn a_redirect_is_not_followed() {
    let elsewhere = Server::always("200 OK", "application/json", "{}");
    let to = format!("location: {}/login\r\nx: y", elsewhere.url);
    let answer = answer("302 Found", "text/html", "").replacen(
        "content-type",
        &format!("{to}\r\ncontent-type"),
        1,
    );
    let server = Server::new(move |_| answer.clone());
    all_fail(&server, "redirects to http://127.0.0.1", NONE);
    assert_eq!(*elsewhere.asked.lock().unwrap(), Vec::<String>::new());
}

#[test]
fn a_refusal_of_something_in_front_of_the_api_is_told_by_its_status() {
    let server = Server::always("502 Bad Gateway", "text/html", "<html>");
    let (code, out, err) = server.run(&["schedules", "list"]);
    assert_eq!((code, out.as_str(), err.as_str()), (Some(1), "", "belfry: 502 Bad Gateway\n"));
}

fn schedule(id: &str) -> Value {
    json!({
        "schedule_id": id, "user_id": "u", "status": "active", "workflow_id": "w", "version": 1,
        "revision": 1, "timezone": "UTC", "overlap_policy": "skip", "catchup_policy": "none",
        "cron_expr": "* * * * *", "payload": "x".repeat(200),
    })
}

/// Three pages of two schedules.
fn pages() -> Server {
    Server::new(|line| {
        let cursor = line.split_once("cursor=").map_or("0", |(_, rest)| &rest[..1]);
        let first: u8 = cursor.parse().unwrap();
        let items = [schedule(&format!("s{first}")), schedule(&format!("s{}", first + 1))];
        let next = (first < 4).then(|| (first + 2).to_string());
        let body = json!({"items": items, "next_cursor": next}).to_string();
        answer("200 OK", "application/json", &body)
    })
}

#[test]
fn a_list_brings_all_pages_or_says_that_it_stopped() {
    let server = pages();
    let (code, out, err) = server.run(&["schedules", "list"]);
    assert_eq!((code, out.lines().count(), err.as_str()), (Some(0), 7, ""), "{out}");
    let stopped = "belfry: stopped after 2; --limit brings more\n";
    let (code, out, err) = server.run(&["schedules", "list", "--limit", "2"]);
    assert_eq!((code, out.lines().count(), err.as_str()), (Some(0), 3, stopped), "{out}");
    let (_, out, err) = server.run(&["schedules", "list", "--limit", "2", "--json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&listed["next_cursor"], err.as_str()), (&json!("2"), stopped));
    let (_, out, err) = server.run(&["schedules", "list", "--limit", "6", "--json"]);
    let listed: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&listed["next_cursor"], err.as_str()), (&Value::Null, ""));

    let body = json!({"items": [schedule("a")], "next_cursor": "a"}).to_string();
    let stuck = Server::always("200 OK", "application/json", &body);
    let (code, out, err) = stuck.run(&["schedules", "list"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("the list does not go on"), "{err}");
}

#[test]
fn workflows_are_listed_with_the_number_of_their_schedules() {
    let workflow = json!({
        "workflow_id": "report", "version": 3, "completion": "tracked", "schedules": 12,
        "target": {"kind": "lambda", "function": "f"}, "user_id": "u", "used_by": ["nightly"],
    });
    let body = json!({"items": [workflow], "next_cursor": null}).to_string();
    let server = Server::always("200 OK", "application/json", &body);
    let (code, out, err) = server.run(&["workflows", "list"]);
    assert_eq!((code, err.as_str()), (Some(0), ""), "{out}");
    let line: Vec<_> = out.lines().nth(1).unwrap().split_whitespace().take(4).collect();
    assert_eq!(line, ["report", "3", "12", "tracked"]);
    assert!(server.asked.lock().unwrap()[0].starts_with("GET /api/v1/workflows?limit="));
}

#[test]
fn a_reader_that_has_enough_hears_nothing_more() {
    let server = pages();
    let (many, one) = (["--count", "10000"], ["preview", "* * * * *"]);
    let commands = [
        server.command(&["schedules", "list"]),
        server.command(&["schedules", "list", "--json"]),
        server.command(&["schedules", "get", "nobody"]),
        server.command(&[&one[..], &many].concat()),
        server.command(&["completions", "bash"]),
        server.command(&["schema"]),
        server.command(&["capacity"]),
        server.command(&["cost", "--schedules", "1", "--fires-per-day", "1"]),
        server.command(&["--help"]),
    ];
    for mut command in commands {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let mut err = String::new();
        child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        let code = child.wait().unwrap().code();
        // Only the schedule that is a list is an error; it is told as one.
        let is_foreign = err.starts_with("belfry: the answer is not one that belfry");
        assert!((code == Some(0) && err.is_empty()) || is_foreign, "{command:?}: {code:?} {err}");
        // Standard error is closed too: no panic, whose exit code is 101.
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert!(matches!(child.wait().unwrap().code(), Some(0 | 1)), "{command:?}");
    }
}
