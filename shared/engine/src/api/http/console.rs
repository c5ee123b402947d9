//! The console over HTTP: the files of `belfry-console` with the headers that keep a browser safe. The
//! files hold nothing that is private, so no token is needed to read them; the page then calls the
//! API with a token of its own.

use belfry_console::{File, INDEX};

use super::answer::Answer;
use super::problem::Problem;
use super::request::decode;

/// The console's path, behind the name of the stage if that is not the default one.
const BASE: &str = "console";

/// The browser runs, styles, shows and calls only what comes from this origin, and refuses to turn
/// text into markup.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/// The answer if the path belongs to the console, with or without a token.
pub(super) fn answer(method: &str, path: &str, seen: Option<&str>) -> Option<Answer> {
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let start = segments.iter().take(2).position(|segment| *segment == BASE)?;
    // A stage or a path of the API may contain `console` too: paths below `/api` are the API's.
    if segments[..start] == ["api"] {
        return None;
    }
    if !matches!(method, "GET" | "HEAD") {
        let problem = Problem::new(405, "Method not allowed", "this resource takes GET, HEAD");
        return Some(problem.into_answer().with("allow", "GET, HEAD".to_owned()));
    }
    let name = segments[start + 1..].join("/");
    if name.is_empty() && path.ends_with('/') {
        // Links in the page are relative to `/console`, with the stage before it or without.
        return Some(Answer::empty(308).with("location", format!("../{BASE}")));
    }
    let name = if name.is_empty() { INDEX.to_owned() } else { decode(&name)? };
    Some(match belfry_console::file(&name) {
        None => Problem::not_found("file of the console").into_answer(),
        Some(file) => file_answer(file, seen),
    })
}

fn file_answer(file: File, seen: Option<&str>) -> Answer {
    let etag = file.etag();
    let known = seen.is_some_and(|seen| {
        seen.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag || tag.trim() == "*")
    });
    let answer = match known {
        true => Answer::empty(304),
        false => Answer { body: Some(file.text.to_owned()), ..Answer::empty(200) },
    };
    Answer { content_type: file.content_type(), ..answer }
        .with("etag", etag)
        // The browser keeps a file but asks each time, so that a new release shows at once.
        .with("cache-control", "no-cache".to_owned())
        .with("content-security-policy", POLICY.to_owned())
        .with("x-content-type-options", "nosniff".to_owned())
        .with("referrer-policy", "no-referrer".to_owned())
        .with("cross-origin-opener-policy", "same-origin".to_owned())
        .with("cross-origin-resource-policy", "same-origin".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn header(answer: &Answer, name: &str) -> String {
        let found = answer.headers.iter().rev().find(|(header, _)| *header == name);
        found.map(|(_, value)| value.clone()).unwrap()
    }

    #[test]
    fn a_path_outside_the_files_is_not_found() {
        assert_eq!(answer("GET", "/console/../Cargo.toml", None).unwrap().status, 404);
        assert_eq!(answer("GET", "/console/none.js", None).unwrap().status, 404);
        assert_eq!(answer("GET", "/console/main.js", None).unwrap().status, 200);
    }

    #[test]
    fn the_page_comes_with_a_strict_policy_and_is_not_sent_twice() {
        let page = answer("GET", "/console", None).unwrap();
        assert_eq!((page.status, page.content_type), (200, "text/html; charset=utf-8"));
        assert!(header(&page, "content-security-policy").starts_with("default-src 'none';"));
        assert_eq!(header(&page, "x-content-type-options"), "nosniff");
        let again = answer("GET", "/console", Some(&header(&page, "etag"))).unwrap();
        assert_eq!((again.status, again.body), (304, None));
    }

    #[test]
    fn only_paths_of_the_console_are_its_own() {
        assert_eq!(answer("GET", "/prod/console", None).unwrap().status, 200);
        assert_eq!(header(&answer("GET", "/console/", None).unwrap(), "location"), "../console");
        assert_eq!(answer("POST", "/console", None).unwrap().status, 405);
        assert!(answer("GET", "/api/v1/schedules/console", None).is_none());
        assert!(answer("GET", "/api/console", None).is_none());
        assert!(answer("GET", "/", None).is_none());
    }
}
