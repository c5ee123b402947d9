//! The console: static files in the function itself, for a browser that then calls the API with a
//! token of its own. They say nothing about anybody, so no token is needed to read them.

use sha2::{Digest, Sha256};

use super::problem::Problem;
use super::request::{Answer, decode};

/// Where the console is, behind the name of the stage if it is not the default one.
const BASE: &str = "console";

/// Nothing runs, is styled, shown or called but what comes from here, and no text ever becomes
/// markup: the browser itself refuses it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
    frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

macro_rules! files {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../console/", $path)))),*]
    };
}

/// Every file of the console. A test compares the list with the folder.
const FILES: &[(&str, &str)] = files![
    "api.js",
    "charts/bars.js",
    "charts/dots.js",
    "charts/heat.js",
    "charts/scale.js",
    "charts/spark.js",
    "charts/timeline.js",
    "cron/plan.js",
    "css/base.css",
    "css/charts.css",
    "css/editor.css",
    "css/narrow.css",
    "css/parts.css",
    "css/said.css",
    "css/shell.css",
    "css/tables.css",
    "css/theme.css",
    "dom.js",
    "editor/builder.js",
    "editor/diff.js",
    "editor/payload.js",
    "editor/policies.js",
    "editor/preview.js",
    "editor/tags.js",
    "editor/zone.js",
    "icon.svg",
    "index.html",
    "live.js",
    "main.js",
    "numbers.js",
    "parts/actions.js",
    "parts/backfill.js",
    "parts/badge.js",
    "parts/bulk.js",
    "parts/changes.js",
    "parts/dialog.js",
    "parts/form.js",
    "parts/history.js",
    "parts/icons.js",
    "parts/ledger.js",
    "parts/rows.js",
    "parts/states.js",
    "parts/theme.js",
    "parts/toast.js",
    "router.js",
    "screens/editor.js",
    "screens/list.js",
    "screens/overview.js",
    "screens/run.js",
    "screens/schedule.js",
    "screens/signin.js",
    "session.js",
    "time.js",
    "words.js",
];

/// The answer if the path is one of the console's, whoever asks.
pub(super) fn answer(method: &str, path: &str, seen: Option<&str>) -> Option<Answer> {
    let segments: Vec<_> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let start = segments.iter().take(2).position(|segment| *segment == BASE)?;
    // A stage could be called `console`, or the API's own path go on so: the API's base wins.
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
    let name = if name.is_empty() { "index.html".to_owned() } else { decode(&name)? };
    let file = FILES.iter().find(|(path, _)| *path == name);
    Some(match file {
        None => Problem::not_found("file of the console").into_answer(),
        Some((path, text)) => file_answer(path, text, seen),
    })
}

fn file_answer(path: &str, text: &str, seen: Option<&str>) -> Answer {
    let etag = format!("\"{}\"", &hex::encode(Sha256::digest(text))[..32]);
    let known = seen.is_some_and(|seen| {
        seen.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag || tag.trim() == "*")
    });
    let answer = match known {
        true => Answer::empty(304),
        false => Answer { body: Some(text.to_owned()), ..Answer::empty(200) },
    };
    Answer { content_type: content_type(path), ..answer }
        .with("etag", etag)
        // Kept, but asked about: a new release shows at once.
        .with("cache-control", "no-cache".to_owned())
        .with("content-security-policy", POLICY.to_owned())
        .with("x-content-type-options", "nosniff".to_owned())
        .with("referrer-policy", "no-referrer".to_owned())
        .with("cross-origin-opener-policy", "same-origin".to_owned())
        .with("cross-origin-resource-policy", "same-origin".to_owned())
}

fn content_type(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("html") => "text/html; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/javascript; charset=utf-8",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn found(folder: &Path, root: &Path, names: &mut Vec<String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                found(&path, root, names);
            } else {
                let name = path.strip_prefix(root).unwrap();
                names.push(name.to_str().unwrap().replace('\\', "/"));
            }
        }
    }

    #[track_caller]
    fn header(answer: &Answer, name: &str) -> String {
        let found = answer.headers.iter().rev().find(|(header, _)| *header == name);
        found.map(|(_, value)| value.clone()).unwrap()
    }

    #[test]
    fn every_file_of_the_folder_is_served_and_no_other() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("console");
        let mut names = Vec::new();
        found(&root, &root, &mut names);
        names.sort_unstable();
        assert_eq!(names, FILES.iter().map(|(path, _)| *path).collect::<Vec<_>>());
        assert_eq!(answer("GET", "/console/../Cargo.toml", None).unwrap().status, 404);
        assert_eq!(answer("GET", "/console/none.js", None).unwrap().status, 404);
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
