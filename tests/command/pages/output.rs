//! Output as a page prints it, compared with what came.

use std::iter::Peekable;
use std::str::Chars;

use serde_json::Value;

/// What stands for anything.
const ANY: &str = "...";

/// The output that a page prints below a command.
pub(super) struct Expected {
    printed: String,
    /// Whether times are compared by value.
    exact: bool,
}

impl Expected {
    pub(super) fn read(printed: &str, exact: bool) -> Expected {
        Expected { printed: printed.trim().to_owned(), exact }
    }

    /// Says what differs.
    pub(super) fn check(&self, output: &str) -> Result<(), String> {
        if self.printed.is_empty() {
            // The page leaves the output out, but not a refusal.
            let is_refusal = output.contains("\"about:blank\"");
            return if is_refusal { Err("it is refused".to_owned()) } else { Ok(()) };
        }
        if self.printed.starts_with('{') {
            let expected = Json::read(&self.printed);
            let found = serde_json::from_str(output).map_err(|problem| problem.to_string())?;
            return expected.check(&found, self.exact, "");
        }
        let expected: Vec<_> = self.printed.lines().collect();
        let found: Vec<_> = output.lines().collect();
        match same_lines(&expected, &found, self.exact) {
            true => Ok(()),
            false => Err("other lines".to_owned()),
        }
    }
}

/// Whether a line that was printed is like an entry of a page, which may be wrapped and end in JSON.
pub(super) fn is_like(entry: &str, line: &str) -> bool {
    match (entry.starts_with("good "), entry.find('{'), line.find('{')) {
        (true, Some(ours), Some(theirs)) => {
            shape(&entry[..ours], false) == shape(&line[..theirs], false)
                && serde_json::from_str(&line[theirs..])
                    .is_ok_and(|found| Json::read(&entry[ours..]).check(&found, false, "").is_ok())
        }
        _ => words(entry, false) == words(line, false),
    }
}

fn same_lines(expected: &[&str], found: &[&str], exact: bool) -> bool {
    match expected {
        [] => found.is_empty(),
        [any] if any.trim() == ANY => true,
        [any, rest @ ..] if any.trim() == ANY => {
            (0..=found.len()).any(|from| same_lines(rest, &found[from..], exact))
        }
        [line, rest @ ..] => found.split_first().is_some_and(|(first, others)| {
            words(line, exact) == words(first, exact) && same_lines(rest, others, exact)
        }),
    }
}

/// A line's words by their shapes; columns may be wider.
fn words(line: &str, exact: bool) -> Vec<String> {
    line.split_whitespace().map(|word| shape(word, exact)).collect()
}

/// A text in which times, dates, addresses, tokens and hashes are replaced by names for them.
fn shape(text: &str, exact: bool) -> String {
    let mut shaped = String::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (name, length) = match () {
            () if pattern(rest, "dddd-dd-ddTdd:dd:dd") => {
                let fraction = rest[19..].strip_prefix('.').map_or(0, |more| 1 + digits(more));
                ("<time>", 19 + fraction + 1)
            }
            () if pattern(rest, "dddd-dd-dd") => ("<date>", 10),
            () if rest.starts_with("127.0.0.1:") => ("<host>", 10 + digits(&rest[10..])),
            () if rest.starts_with("eyJ") => {
                let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
                ("<token>", rest.find(|c| !is_part(c)).unwrap_or(rest.len()))
            }
            () => ("", hash(rest)),
        };
        let length = length.min(rest.len());
        match name {
            "<time>" if exact => shaped.push_str(&rest[..length]),
            "" if length > 0 => shaped.push_str("<hash>"),
            "" => shaped.push(first),
            name => shaped.push_str(name),
        }
        // A word is one hash or none.
        let word = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let taken = if length > 0 { length } else { first.len_utf8() };
        if name.is_empty() && length == 0 && word > 1 && first.is_ascii_alphanumeric() {
            // The rest of a word that is no hash.
            let more = tail(&rest[1..word]);
            shaped.push_str(more);
            rest = &rest[1 + more.len()..];
            continue;
        }
        rest = &rest[taken..];
    }
    shaped
}

/// The part of a word in which no date can begin.
fn tail(word: &str) -> &str {
    &word[..word.find(|c: char| c.is_ascii_digit()).unwrap_or(word.len())]
}

/// The length of the hash at the beginning of a text, with the dots that shorten it; or 0.
fn hash(text: &str) -> usize {
    let length = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let word = &text[..length];
    let is_hash = length >= 8
        && word.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
        && word.contains(|c: char| c.is_ascii_digit());
    match (is_hash, text[length..].starts_with(ANY)) {
        (false, _) => 0,
        (true, false) => length,
        (true, true) => length + ANY.len(),
    }
}

fn digits(text: &str) -> usize {
    text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len())
}

/// Whether a text begins like this, where `d` is a digit.
fn pattern(text: &str, pattern: &str) -> bool {
    let same = |(letter, found): (char, char)| match letter {
        'd' => found.is_ascii_digit(),
        letter => letter == found,
    };
    text.len() >= pattern.len() && pattern.chars().zip(text.chars()).all(same)
}

/// JSON as a page prints it: wrapped at any place, with `...` for what is left out.
#[derive(Debug, PartialEq)]
enum Json {
    Object { fields: Vec<(String, Json)>, open: bool },
    List { items: Vec<Json>, open: bool },
    Text(String),
    Other(Value),
}

impl Json {
    fn read(text: &str) -> Json {
        Reader { rest: text.chars().peekable() }.value()
    }

    fn check(&self, found: &Value, exact: bool, at: &str) -> Result<(), String> {
        match (self, found) {
            (Json::Object { fields, open }, Value::Object(others)) => {
                for (name, value) in fields {
                    let at = format!("{at}.{name}");
                    let other = others.get(name).ok_or(format!("{at} is missing"))?;
                    // How late a run starts is never the same twice.
                    let is_number = name == "drift_ms" && other.is_number();
                    if !is_number {
                        value.check(other, exact, &at)?;
                    }
                }
                let more =
                    others.keys().find(|name| fields.iter().all(|(known, _)| known != *name));
                match more {
                    Some(name) if !open => Err(format!("{at}.{name} is not on the page")),
                    _ => Ok(()),
                }
            }
            (Json::List { items, open }, Value::Array(others)) => {
                for (place, (item, other)) in items.iter().zip(others).enumerate() {
                    item.check(other, exact, &format!("{at}[{place}]"))?;
                }
                match items.len() == others.len() || (*open && items.len() < others.len()) {
                    true => Ok(()),
                    false => Err(format!("{at} has {} items", others.len())),
                }
            }
            (Json::Text(text), Value::String(other)) if same_text(text, other, exact) => Ok(()),
            (Json::Other(value), other) if value == other => Ok(()),
            (_, other) => Err(format!("{at} is {other}")),
        }
    }
}

fn same_text(expected: &str, found: &str, exact: bool) -> bool {
    let (ours, theirs) = (shape(expected, exact), shape(found, exact));
    match ours.strip_suffix(ANY) {
        Some(beginning) => theirs.starts_with(beginning.trim_end()),
        None => ours == theirs,
    }
}

struct Reader<'a> {
    rest: Peekable<Chars<'a>>,
}

impl Reader<'_> {
    fn value(&mut self) -> Json {
        self.skip_space();
        match self.rest.peek() {
            Some('{') => {
                let mut fields = Vec::new();
                let open = self.items('}', |reader| {
                    let name = reader.text();
                    reader.skip_space();
                    assert_eq!(reader.rest.next(), Some(':'), "after {name}");
                    let value = reader.value();
                    fields.push((name, value));
                });
                Json::Object { fields, open }
            }
            Some('[') => {
                let mut items = Vec::new();
                let open = self.items(']', |reader| items.push(reader.value()));
                Json::List { items, open }
            }
            Some('"') => Json::Text(self.text()),
            _ => {
                let mut word = String::new();
                while let Some(c) = self.rest.next_if(|c| !",]}".contains(*c)) {
                    word.push(c);
                }
                let value = serde_json::from_str(word.trim());
                Json::Other(value.unwrap_or_else(|_| panic!("the page prints {word}")))
            }
        }
    }

    /// Reads up to the end of an object or a list; answers whether something is left out of it.
    fn items(&mut self, end: char, mut item: impl FnMut(&mut Self)) -> bool {
        self.rest.next();
        let mut open = false;
        loop {
            self.skip_space();
            match self.rest.peek() {
                Some('.') => {
                    open = true;
                    self.rest.next();
                }
                Some(',') => drop(self.rest.next()),
                Some(c) if *c == end => {
                    self.rest.next();
                    return open;
                }
                Some(_) => item(self),
                None => panic!("the page's JSON has no {end}"),
            }
        }
    }

    /// A text in quotes. Where the page wraps it, it has a space.
    fn text(&mut self) -> String {
        assert_eq!(self.rest.next(), Some('"'));
        let mut text = String::new();
        loop {
            match self.rest.next() {
                Some('"') => return text,
                Some('\\') => text.extend(self.rest.next()),
                Some('\n') => text.push(' '),
                Some(c) => text.push(c),
                None => panic!("the page's JSON ends within {text}"),
            }
        }
    }

    fn skip_space(&mut self) {
        while self.rest.next_if(|c| c.is_whitespace()).is_some() {}
    }
}

#[test]
fn output_is_compared_as_the_page_means_it() {
    #[track_caller]
    fn check(printed: &str, output: &str, same: bool) {
        let told = Expected::read(printed, false).check(output);
        assert_eq!(told.is_ok(), same, "{printed} / {output}: {told:?}");
    }
    check("a  1\n...\nz", "a 1\nb\nc\nz", true);
    check("a  1\n...\nz", "a 2\nb\nz", false);
    check("s@2026-11-16T05:15:12Z  SUCCESS", "s@2031-01-01T00:00:00.123Z SUCCESS", true);
    check("s@2026-11-16T05:15:12Z  SUCCESS", "s@2031-01-01T00:00:00Z FAILED", false);
    check("API http://127.0.0.1:7600/api", "API   http://127.0.0.1:4711/api", true);
    check("token eyJabc...", "token eyJxyz.abc-_1", true);
    check(
        r#"{...,"a":1,..."b":[{"c":"two
words"},...],...}"#,
        r#"{"b":[{"c":"two words"},2],"a":1,"z":0}"#,
        true,
    );
    check(r#"{"a":1}"#, r#"{"a":1,"b":2}"#, false);
    check(r#"{"a":1,...}"#, r#"{"a":2,"b":2}"#, false);
    check(r#"{"a":[1]}"#, r#"{"a":[1,2]}"#, false);
    check(r#"{"key":"ba25cfc0..."}"#, r#"{"key":"0123456789abcdef"}"#, true);
    check(r#"{"drift_ms":6}"#, r#"{"drift_ms":17}"#, true);
    check("", r#"{"type":"about:blank"}"#, false);
    let exact = Expected::read(r#"{"at":"2026-03-27T01:30:00Z"}"#, true);
    assert!(exact.check(r#"{"at":"2026-03-27T01:30:00Z"}"#).is_ok());
    assert!(exact.check(r#"{"at":"2026-03-27T01:31:00Z"}"#).is_err());
}
